import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { path, send, sentence } from "../lib/api";
import { count, money, nouns, seconds, tokens } from "../lib/format";
import { change, DOCUMENT } from "../lib/route";
import type { Answer, IndexSummary } from "../lib/types";
import { Cite } from "../parts/cite";
import { DocumentPane, spanOf } from "../parts/document";
import { NoDocuments } from "../parts/empty";
import { Icon } from "../parts/icons";
import { Judge } from "../parts/judge";
import { Markdown } from "../parts/markdown";
import { Menu } from "../parts/menu";
import { byNeed, suggested } from "../parts/methods";
import { Nearest, shownPassages } from "../parts/nearest";
import { Filters, More, optionParams, optionsOf } from "../parts/options";
import { ComparedEvidence } from "../parts/why";

interface Compared {
  key: string;
  answers: Answer[];
}

const MOST = 4;
const KEY = "polygraph.compared";

/** The comparisons of this tab, so that going back or reloading does not pay again. */
function remembered(key: string): Answer[] | null {
  try {
    return (JSON.parse(sessionStorage.getItem(KEY) ?? "[]") as Compared[]).find((each) => each.key === key)?.answers ?? null;
  } catch {
    return null;
  }
}

function remember(key: string, answers: Answer[]): void {
  try {
    const old = (JSON.parse(sessionStorage.getItem(KEY) ?? "[]") as Compared[]).filter((each) => each.key !== key);
    sessionStorage.setItem(KEY, JSON.stringify([...old.slice(-9), { key, answers }]));
  } catch {
    sessionStorage.removeItem(KEY);
  }
}

export function Compare({ index, params }: { index: IndexSummary; params: URLSearchParams }) {
  const [draft, setDraft] = useState(params.get("q") ?? "");
  const [state, setState] = useState<{ busy: boolean; error: string; shown: Answer[] | null }>({ busy: false, error: "", shown: null });
  const stop = useRef<AbortController | null>(null);
  const options = optionsOf(params);
  const chosen = useMemo(() => {
    const given = params.getAll("m").filter((name) => index.methods.some((each) => each.name === name));
    if (given.length >= 2) return given.slice(0, MOST);
    const ready = index.methods.filter((each) => each.ready);
    const firsts = [
      ready.find((each) => each.name === index.default_method),
      suggested(ready, "several steps"),
      suggested(ready, "overview"),
      ...ready,
    ];
    return [...new Set(firsts.map((each) => each?.name).filter((name): name is string => Boolean(name)))].slice(0, 3);
  }, [params.getAll("m").join(), index.name]);
  const q = params.get("q") ?? "";
  const key = JSON.stringify([index.name, q, chosen, options]);
  useEffect(() => {
    setState({ busy: false, error: "", shown: q ? remembered(key) : null });
    // Answers that come after their methods were changed or their view was left would change what is shown then.
    return () => {
      stop.current?.abort();
      stop.current = null;
    };
  }, [key]);
  // What is typed stays when methods are chosen; only another question in the address replaces it.
  const shownQuestion = useRef(q);
  useEffect(() => {
    if (shownQuestion.current !== q) setDraft(q);
    shownQuestion.current = q;
  }, [q]);
  const field = useRef<HTMLTextAreaElement>(null);

  const compare = async (given: string) => {
    const question = given.trim();
    if (!question || chosen.length < 2) return;
    const asked = JSON.stringify([index.name, question, chosen, options]);
    const control = new AbortController();
    stop.current = control;
    setState({ busy: true, error: "", shown: null });
    try {
      const found = await send<{ answers: Answer[] }>("POST", path("indexes", index.name, "compare"), {
        question, methods: chosen,
        ...(Object.keys(options.where).length ? { where: options.where } : {}),
        ...(options.budget ? { max_tokens: options.budget } : {}),
        ...(options.form ? { form: options.form } : {}),
      }, control.signal); // prettier-ignore
      stop.current = null;
      remember(asked, found.answers);
      change({ q: question, m: chosen, judged: null, ...DOCUMENT });
      setState({ busy: false, error: "", shown: found.answers });
    } catch (error) {
      if (stop.current === control) setState({ busy: false, error: control.signal.aborted ? "" : sentence(error), shown: null });
    }
  };

  const document = params.get("doc");
  const shown = state.shown;
  const citedBy = useMemo(() => {
    const found = new Map<string, Set<string>>();
    for (const answer of shown ?? [])
      for (const each of answer.citations) found.set(each.chunk, (found.get(each.chunk) ?? new Set()).add(answer.method));
    return found;
  }, [shown]);
  const marks = useMemo(() => (shown ?? []).flatMap(shownPassages), [shown]);
  return (
    <div class={`split${document ? " open" : ""}`}>
      <div class="compare">
        <h1 class="visually-hidden">Compare methods</h1>
        <form
          class="question-form top-form"
          onSubmit={(event) => {
            event.preventDefault();
            void compare(field.current?.value ?? "");
          }}
        >
          <div class="field">
            <textarea
              ref={field}
              rows={1}
              dir="auto"
              aria-label="Question"
              placeholder="One question, two to four methods"
              value={draft}
              onInput={(event) => setDraft(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
                  event.preventDefault();
                  // Not the draft: the key may come before what was typed is rendered.
                  void compare(event.currentTarget.value);
                }
              }}
            />
            <div class="field-tools">
              <ul class="chips" aria-label="Methods">
                {chosen.map((name) => (
                  <li class="chip" key={name}>
                    {name}
                    {chosen.length > 2 && (
                      <button type="button" class="quiet" aria-label={`Remove ${name}`} onClick={() => change({ m: chosen.filter((each) => each !== name), judged: null }, true)}>
                        <Icon name="close" />
                      </button>
                    )}
                  </li>
                ))}
              </ul>
              <Menu label="methods" name="Choose methods" quiet>
                {() => (
                  <fieldset class="methods">
                    <legend>Two to four methods</legend>
                    {byNeed(index.methods).map(([title, about, methods]) => (
                      <div class="need" key={title}>
                        <div class="need-title">{title} <span class="soft">{about}</span></div>
                        {methods.map((each) => {
                          const on = chosen.includes(each.name);
                          return (
                            <label key={each.name} class={each.ready ? "" : "off"}>
                              <input
                                type="checkbox"
                                checked={on}
                                disabled={!each.ready || (!on && chosen.length >= MOST) || (on && chosen.length <= 2)}
                                onChange={() => change({ m: on ? chosen.filter((name) => name !== each.name) : [...chosen, each.name], judged: null }, true)}
                              />
                              <span><b>{each.name}</b> <span class="soft about">{each.summary}</span></span>
                            </label>
                          );
                        })}
                      </div>
                    ))}
                  </fieldset>
                )}
              </Menu>
              <More index={index.name} options={options} onChange={(next) => change({ ...optionParams(next), judged: null }, true)} />
              <Filters options={options} onChange={(next) => change({ ...optionParams(next), judged: null }, true)} />
              {state.busy ? (
                <button type="button" class="main" onClick={() => stop.current?.abort()}><Icon name="stop" /> Stop</button>
              ) : (
                <button type="submit" class="main" disabled={!draft.trim() || chosen.length < 2}>Compare</button>
              )}
            </div>
          </div>
        </form>
        <div aria-live="polite">
          {state.error && <p class="problem" role="alert">{state.error}</p>}
          {state.busy && <p class="soft waiting-line">{chosen.join(", ")} search …</p>}
          {index.documents === 0 ? (
            <div class="hint"><NoDocuments index={index} /></div>
          ) : chosen.length < 2 ? (
            <p class="hint">A comparison takes two methods; this index is ready for {chosen[0] ?? "none"}.</p>
          ) : !state.busy && !shown && !state.error && (
            <p class="soft hint">The answers stand side by side; a citation with a dashed frame is one that no other method gives.</p>
          )}
        </div>
        {shown && (
          <>
            <div class={`columns n${shown.length}`}>
              {shown.map((answer) => (
                <article class="column" key={answer.method}>
                  <h2>{answer.method}</h2>
                  {answer.refused && <h3 class="refused-title">No answer</h3>}
                  <div class="prose">
                    <Markdown
                      text={answer.text}
                      cite={(n, at) => {
                        const citations = answer.citations.filter((each) => each.n === n);
                        const alone = citations.length > 0 && citations.every((each) => citedBy.get(each.chunk)?.size === 1);
                        const span = spanOf(params.get("span"));
                        const current = citations.some((each) => each.document === document && each.start === span?.[0]);
                        return <Cite key={at} n={n} citations={citations} alone={alone} current={current} />;
                      }}
                    />
                  </div>
                  <Nearest answer={answer} />
                  {answer.notes.map((note) => <p class="note" key={note}>{note}</p>)}
                  <ComparedEvidence answer={answer} />
                </article>
              ))}
            </div>
            <p class="soft legend-line"><span class="cite alone">1</span> cited by this method only; <span class="tag alone">alone</span> evidence that no other method found</p>
            <div class="wide" tabIndex={0} role="region" aria-label="Evidence, tokens, time and cost">
              <table class="measures stacked">
                <caption>Evidence and cost of each answer</caption>
                <thead>
                  <tr>
                    <th scope="col">method</th>
                    <th scope="col" class="n">evidence</th>
                    <th scope="col" class="n">shared</th>
                    <th scope="col" class="n">alone</th>
                    <th scope="col" class="n">citations</th>
                    <th scope="col" class="n">calls</th>
                    <th scope="col" class="n">tokens</th>
                    <th scope="col" class="n">time</th>
                    <th scope="col" class="n">cost</th>
                  </tr>
                </thead>
                <tbody>
                  {shown.map((answer) => (
                    <tr key={answer.method}>
                      <th scope="row">{answer.method}</th>
                      <td class="n" data-label="evidence">{count(answer.evidence.length)}</td>
                      <td class="n" data-label="shared">{count(answer.alone && answer.evidence.length - answer.alone.length)}</td>
                      <td class="n" data-label="alone">{count(answer.alone?.length)}</td>
                      <td class="n" data-label="citations">{count(answer.citations.length)}</td>
                      <td class="n" data-label="calls">{count(answer.usage.calls)}</td>
                      <td class="n" data-label="tokens">{count(tokens(answer.usage))}</td>
                      <td class="n" data-label="time">{seconds(answer.usage.seconds)}</td>
                      <td class="n" data-label="cost">{money(answer.usage.cost)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <p class="soft">
              {nouns([...citedBy.values()].filter((each) => each.size > 1).length, "passage")} cited by several methods,{" "}
              {count([...citedBy.values()].filter((each) => each.size === 1).length)} by only one.
            </p>
            <Judge index={index} question={q} methods={chosen} options={options} job={params.get("judged")} />
          </>
        )}
      </div>
      {document && <DocumentPane index={index.name} document={document} span={spanOf(params.get("span"))} marks={marks} />}
    </div>
  );
}
