/** The menu of methods: by what the question needs, with the names behind it. */

import type { IndexSummary, Method, Need } from "../lib/types";
import { Menu } from "./menu";

export const NEEDS: [Need, string, string][] = [
  ["one fact", "One fact", "A single passage holds the answer"],
  ["several steps", "Several steps", "The answer joins facts from several places"],
  ["overview", "Overview", "The answer is about the whole collection"],
  ["other", "Combined", "Several methods together"],
];

export function byNeed(methods: Method[]): [string, string, Method[]][] {
  return NEEDS.map(([need, title, about]): [string, string, Method[]] => [
    title,
    about,
    methods.filter((each) => each.need === need),
  ]).filter(([, , found]) => found.length);
}

/** For each need, the method to offer: of those that ask a model once. */
const OFFERED = ["hybrid", "walk", "graft"];

/** The ready method to offer for a need: the one for it, or else the first. */
export function suggested(methods: Method[], need: Need): Method | undefined {
  const ready = methods.filter((each) => each.ready && each.need === need);
  return ready.find((each) => OFFERED.includes(each.name)) ?? ready[0];
}

export function MethodMenu({ index, value, onChange }: { index: IndexSummary; value: string; onChange: (name: string) => void }) {
  const chosen = value || index.default_method;
  return (
    <Menu label={<span class="method-name">{chosen}</span>} name={`Method: ${chosen}`} up>
      {(close) => (
        <fieldset class="methods">
          <legend>How to search</legend>
          {byNeed(index.methods).map(([title, about, methods]) => (
            <div class="need" key={title}>
              <div class="need-title">
                {title} <span class="soft">{about}</span>
              </div>
              {methods.map((each) => (
                <label key={each.name} class={each.ready ? "" : "off"}>
                  <input
                    type="radio"
                    name="method"
                    checked={each.name === chosen}
                    disabled={!each.ready}
                    onChange={() => onChange(each.name === index.default_method ? "" : each.name)}
                    onClick={close}
                  />
                  <span>
                    <b>{each.name}</b>
                    {each.name === index.default_method && <span class="tag">default</span>}
                    {!each.ready && <span class="tag">needs another layer</span>}
                    <span class="soft about">{each.summary}</span>
                  </span>
                </label>
              ))}
            </div>
          ))}
        </fieldset>
      )}
    </Menu>
  );
}
