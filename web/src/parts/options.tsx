/** Filters as chips, and under "more" the budget and the form of the answer. */

import { useState } from "preact/hooks";
import { path } from "../lib/api";
import { useLoad } from "../lib/load";
import type { DocumentRow } from "../lib/types";
import { Icon } from "./icons";
import { Menu } from "./menu";

export interface Options {
  where: Record<string, string>;
  budget: number | null;
  form: string;
}

/** Options in an address: `f=field:value`, `budget`, `form`. */
export function optionsOf(params: URLSearchParams): Options {
  const where: Record<string, string> = {};
  for (const each of params.getAll("f")) {
    const at = each.indexOf(":");
    if (at > 0) where[each.slice(0, at)] = each.slice(at + 1);
  }
  const budget = Number(params.get("budget"));
  return { where, budget: Number.isInteger(budget) && budget > 0 ? budget : null, form: params.get("form") ?? "" };
}

export function optionParams(options: Options): Record<string, string | string[] | number | null> {
  return {
    f: Object.entries(options.where).map(([field, value]) => `${field}:${value}`),
    budget: options.budget,
    form: options.form,
  };
}

interface Props {
  index: string;
  options: Options;
  onChange: (options: Options) => void;
}

export function Filters({ options, onChange }: Omit<Props, "index">) {
  const entries = Object.entries(options.where);
  if (!entries.length) return null;
  return (
    <ul class="chips" aria-label="Filters">
      {entries.map(([field, value]) => (
        <li class="chip" key={field}>
          {field}: {value}
          <button
            type="button"
            class="quiet"
            aria-label={`Remove the filter ${field}: ${value}`}
            onClick={() => {
              const { [field]: _, ...where } = options.where;
              onChange({ ...options, where });
            }}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}

export function More({ index, options, onChange }: Props) {
  return (
    <Menu label="more" name="More: filters, budget, form of the answer" quiet up>
      {(close) => <MoreForm index={index} options={options} onChange={onChange} close={close} />}
    </Menu>
  );
}

function MoreForm({ index, options, onChange, close }: Props & { close: () => void }) {
  const rows = useLoad<{ documents: DocumentRow[] }>(`${path("indexes", index, "documents")}?limit=100`);
  const [field, setField] = useState("");
  const [value, setValue] = useState("");
  const known = new Map<string, Set<string>>();
  for (const row of rows.data?.documents ?? [])
    for (const [key, each] of Object.entries(row.fields ?? {})) {
      if (!known.has(key)) known.set(key, new Set());
      known.get(key)?.add(String(each));
    }
  return (
    <form
      class="more"
      onSubmit={(event) => {
        event.preventDefault();
        event.stopPropagation();
        if (field.trim() && value.trim()) onChange({ ...options, where: { ...options.where, [field.trim()]: value.trim() } });
        setField("");
        setValue("");
        if (!field.trim()) close();
      }}
    >
      <fieldset>
        <legend>Only documents with</legend>
        <div class="row">
          <input aria-label="Field" placeholder="field" list="fields" value={field} onInput={(event) => setField(event.currentTarget.value)} />
          <input aria-label="Value" placeholder="value" list="values" value={value} onInput={(event) => setValue(event.currentTarget.value)} />
          <button type="submit">add</button>
        </div>
        <p class="soft">* in a value stands for any text.</p>
        <datalist id="fields">{[...known.keys()].map((each) => <option key={each} value={each} />)}</datalist>
        <datalist id="values">{[...(known.get(field) ?? [])].slice(0, 50).map((each) => <option key={each} value={each} />)}</datalist>
      </fieldset>
      <label>
        Budget of the context, in tokens
        <input
          type="number"
          min="100"
          step="100"
          placeholder="as the method sets it"
          value={options.budget ?? ""}
          onChange={(event) => onChange({ ...options, budget: Number(event.currentTarget.value) || null })}
        />
      </label>
      <label>
        Form of the answer
        <select value={options.form} onChange={(event) => onChange({ ...options, form: event.currentTarget.value })}>
          <option value="">as the method sets it</option>
          <option value="short">short: a name, a number, a phrase</option>
          <option value="cited">sentences with citations</option>
          <option value="overview">overview in sections</option>
        </select>
      </label>
    </form>
  );
}
