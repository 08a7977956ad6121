import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { forPeople, path, sentence, stream } from "../lib/api";
import { count, download, fileName, money, nouns, seconds, tokens } from "../lib/format";
import { forget, keep, useTurns, type Turn } from "../lib/history";
import { address, change, DOCUMENT, go, now } from "../lib/route";
import { forgetFailed, isBusy, setRunning, useRunning, type Running } from "../lib/running";
import type { Answer, Citation, IndexSummary, Method, Need, Retrieval } from "../lib/types";
import { Cite } from "../parts/cite";
import { DocumentPane, spanOf } from "../parts/document";
import { NoDocuments } from "../parts/empty";
import { Icon } from "../parts/icons";
import { Markdown } from "../parts/markdown";
import { Menu } from "../parts/menu";
import { MethodMenu, suggested } from "../parts/methods";
import { Nearest, shownPassages } from "../parts/nearest";
import { Filters, More, optionParams, optionsOf, type Options } from "../parts/options";
import { EvidenceList, Paths, Truncated, Why } from "../parts/why";
import { markdownOf } from "../lib/export";

interface Props {
  index: IndexSummary;
  params: URLSearchParams;
}

export function Ask({ index, params }: Props) {
  const turns = useTurns();
  const running = useRunning(index.name);
  const busy = isBusy(running);
  const [draft, setDraft] = useState(params.get("q") && !params.get("run") ? (params.get("q") ?? "") : "");
  const field = useRef<HTMLTextAreaElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const run = params.get("run");
  const last = turns.find((turn) => turn.id === run && turn.index === index.name);
  const thread = useMemo(
    () => (last ? turns.filter((turn) => turn.thread === last.thread && turn.at <= last.at) : []),
    [turns, last],
  );
  const options = optionsOf(params);
  const method = params.get("m") ?? "";
  const document = params.get("doc");
  const span = spanOf(params.get("span"));
  const marks = useMemo(() => thread.flatMap((turn) => (turn.answer ? shownPassages(turn.answer) : [])).concat(running?.citations ?? []), [thread, running]);

  // A question in the address whose answer this browser does not have is put into the field, not asked: it may cost money.
  useEffect(() => {
    const q = params.get("q");
    if (q && !last && !running) setDraft(q);
  }, [params.get("q"), last?.id]);
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        field.current?.focus();
      } else if (event.key === "Escape" && isBusy(running)) running.stop();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [running]);
  // What failed or was stopped goes when another conversation is opened or the view is left.
  useEffect(() => () => forgetFailed(index.name), [run]);
  useEffect(() => field.current?.focus({ preventScroll: true }), []);

  const ask = async (question: string, by = method, given: Options = options, before: Turn[] = thread) => {
    const asked = question.trim();
    if (!asked || busy) return;
    const stop = new AbortController();
    const id = crypto.randomUUID?.() ?? String(Date.now());
    let state: Running = {
      id, question: asked, method: by || index.default_method, text: "", retrieval: null, citations: [], error: "", stopped: false,
      stop: () => stop.abort(),
    }; // prettier-ignore
    const update = (changes: Partial<Running>) => {
      state = { ...state, ...changes };
      setRunning(index.name, state);
    };
    update({});
    setDraft("");
    requestAnimationFrame(() => end.current?.scrollIntoView({ block: "end" }));
    const turn: Turn = {
      id, thread: before[0]?.thread ?? id, index: index.name, question: asked, method: by, where: given.where,
      budget: given.budget, form: given.form, at: Date.now(), answer: null, retrieval: null,
    }; // prettier-ignore
    try {
      const body = {
        question: asked,
        ...(by ? { method: by } : {}),
        ...(Object.keys(given.where).length ? { where: given.where } : {}),
        ...(given.budget ? { max_tokens: given.budget } : {}),
        ...(given.form ? { form: given.form } : {}),
        history: before.filter((each) => each.answer && !each.answer.refused).slice(-6).map((each) => [each.question, each.answer?.text ?? ""]),
        paths: index.layers.includes("facts") || index.layers.includes("graph"),
      };
      for await (const event of stream(path("indexes", index.name, "ask"), body, stop.signal)) {
        if (event.kind === "retrieval") update({ retrieval: event.data as Retrieval });
        else if (event.kind === "text") update({ text: state.text + (event.data as { text: string }).text });
        else if (event.kind === "citation") update({ citations: [...state.citations, event.data as Citation] });
        else if (event.kind === "error") {
          update({ error: forPeople((event.data as { detail?: string }).detail ?? "The answer failed.") });
          setDraft(asked);
          return;
        } else if (event.kind === "answer") {
          keep({ ...turn, answer: event.data as Answer, retrieval: state.retrieval });
          setRunning(index.name, null);
          const at = now();
          if (at.view === "ask" && at.index === index.name) change({ q: asked, run: id, m: by, ...optionParams(given), show: null, ...DOCUMENT });
        }
      }
    } catch (error) {
      if (stop.signal.aborted) update({ stopped: true });
      else update({ error: sentence(error) });
      setDraft(asked);
    }
  };

  const chosen = index.methods.find((each) => each.name === (method || index.default_method));
  const empty = !thread.length && !running;
  return (
    <div class={`split${document ? " open" : ""}`}>
      <div class={`ask${empty ? " empty" : ""}`}>
        <div class="thread">
          {!empty && <h1 class="visually-hidden">Ask {index.name}</h1>}
          {empty && (
            <div class="welcome">
              <h1>Ask {index.name}</h1>
              {index.note ? (
                <p class="problem">{index.note}</p>
              ) : index.documents === 0 ? (
                <NoDocuments index={index} />
              ) : (
                <p class="soft">
                  {nouns(index.documents, "document")}, {nouns(index.chunks, "passage")}
                  {index.entities > 0 && `, ${nouns(index.entities, "entity", "entities")}`}
                  {index.chat_model ? `. ${index.chat_model} writes the answers.` : ". No model is configured: answers consist of sentences from the documents."}
                </p>
              )}
            </div>
          )}
          {thread.map((turn) => (
            <TurnView
              key={turn.id}
              turn={turn}
              index={index}
              params={params}
              newest={turn.id === last?.id}
              onAgain={(by) => void ask(turn.question, by, { where: turn.where, budget: turn.budget, form: turn.form }, thread.filter((each) => each.at < turn.at))}
            />
          ))}
          {running && (
            <article class="turn" aria-busy={busy}>
              <h2 class="question">{running.question}</h2>
              <div class="answer" aria-live="polite">
                {running.text ? (
                  <div class="prose">
                    <Markdown text={running.text} cite={(n, key) => <Cite key={key} n={n} citations={running.citations.filter((each) => each.n === n)} />} />
                  </div>
                ) : busy ? (
                  <p class="soft waiting-line">
                    {running.retrieval
                      ? `${nouns(running.retrieval.evidence.length, "piece")} of evidence; writing …`
                      : `${running.method} searches …`}
                  </p>
                ) : null}
                {running.error && <p class="problem" role="alert">{running.error}</p>}
                {running.stopped && <p class="soft">Stopped.</p>}
              </div>
            </article>
          )}
          <div ref={end} />
        </div>
        <form
          class="question-form"
          onSubmit={(event) => {
            event.preventDefault();
            void ask(field.current?.value ?? "");
          }}
        >
          <Filters options={options} onChange={(next) => change(optionParams(next), true)} />
          {chosen && !chosen.ready && <NotReady index={index} method={chosen.name} />}
          <div class="field">
            <textarea
              ref={field}
              rows={1}
              dir="auto"
              aria-label="Question"
              placeholder={thread.length ? "Ask a follow-up question" : "What would you like to know?"}
              value={draft}
              maxLength={20000}
              onInput={(event) => setDraft(event.currentTarget.value)}
              onKeyDown={(event) => {
                // The key that leads to the field, pressed once more.
                if (event.key === "/" && !draft) event.preventDefault();
                if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
                  event.preventDefault();
                  // Not the draft: the key may come before what was typed is rendered.
                  void ask(event.currentTarget.value);
                }
              }}
            />
            <div class="field-tools">
              <MethodMenu index={index} value={method} onChange={(name) => change({ m: name }, true)} />
              <More index={index.name} options={options} onChange={(next) => change(optionParams(next), true)} />
              <HistoryMenu index={index.name} turns={turns} />
              {(thread.length > 0 || (running && !busy)) && (
                <button type="button" class="quiet" onClick={() => { forgetFailed(index.name); setDraft(""); go(address(index.name, "ask", { m: method })); field.current?.focus(); }}>
                  <Icon name="plus" /> <span class="word">new</span>
                </button>
              )}
              <span class="keys soft" aria-hidden="true">
                <kbd>/</kbd> field <kbd>Enter</kbd> ask <kbd>Esc</kbd> stop
              </span>
              {busy ? (
                <button type="button" class="main" onClick={() => running.stop()}>
                  <Icon name="stop" /> Stop
                </button>
              ) : (
                <button type="submit" class="main" disabled={!draft.trim()}>
                  <Icon name="send" /> Ask
                </button>
              )}
            </div>
          </div>
        </form>
      </div>
      {document && <DocumentPane index={index.name} document={document} span={span} marks={marks} />}
    </div>
  );
}

const PANELS = ["why", "path", "evidence", "truncated"] as const;

interface TurnProps extends Props {
  turn: Turn;
  newest: boolean;
  onAgain: (method: string) => void;
}

function TurnView({ turn, index, params, newest, onAgain }: TurnProps) {
  const answer = turn.answer;
  const [copied, setCopied] = useState(false);
  const [own, setOwn] = useState("");
  if (!answer) return null;
  const retrieval = turn.retrieval;
  // The open panel of the newest turn is in the address.
  const shown = newest ? (params.get("show") ?? "") : own;
  const show = (name: string) => (newest ? change({ show: shown === name ? null : name }, true) : setOwn(shown === name ? "" : name));
  const cuts = retrieval?.cuts.reduce((sum, cut) => sum + cut.n_items, 0) ?? 0;
  const counts: Record<string, number | null> = { why: null, path: answer.paths?.length ?? 0, evidence: answer.evidence.length, truncated: cuts };
  const span = spanOf(params.get("span"));
  const isCurrent = (citation: Citation) =>
    citation.document === params.get("doc") && citation.start === span?.[0] && citation.end === span?.[1];
  const markdown = () => markdownOf(turn.question, answer);
  return (
    <article class="turn">
      <h2 class="question">{turn.question}</h2>
      <div class={`answer${answer.refused ? " refused" : ""}`}>
        {answer.refused && <h3 class="refused-title">No answer</h3>}
        <div class="prose">
          <Markdown
            text={answer.text}
            cite={(n, key) => {
              const citations = answer.citations.filter((each) => each.n === n);
              return <Cite key={key} n={n} citations={citations} current={citations.some(isCurrent)} />;
            }}
          />
        </div>
        <Nearest answer={answer} />
        {answer.refused && <Help index={index} turn={turn} onAgain={onAgain} />}
        {answer.notes.map((note) => (
          <p class="note" key={note}>{note}</p>
        ))}
      </div>
      <div class="under">
        <div class="tools" role="group" aria-label="Behind this answer">
          {PANELS.filter((name) => (name === "why" || name === "truncated" ? retrieval : true) && counts[name] !== 0).map((name) => (
            <button key={name} type="button" class="tool" aria-expanded={shown === name} onClick={() => show(name)}>
              {name}
              {counts[name] !== null && name !== "path" && <span class="number"> {count(counts[name])}</span>}
            </button>
          ))}
          {index.entities > 0 && (
            <button type="button" class="tool" onClick={() => go(address(index.name, "graph", { answer: turn.id }))}>graph</button>
          )}
          <button type="button" class="tool" onClick={() => go(address(index.name, "compare", { q: turn.question }))}>compare</button>
          <button
            type="button"
            class="tool"
            onClick={() => {
              void navigator.clipboard?.writeText(markdown()).then(() => setCopied(true), () => setCopied(false));
              setTimeout(() => setCopied(false), 2000);
            }}
          >
            {copied ? "copied" : "copy"}
          </button>
          <button type="button" class="tool" onClick={() => download(fileName(turn.question, "md"), new Blob([markdown()], { type: "text/markdown" }))}>
            export
          </button>
          <span role="status" class="visually-hidden">{copied ? "Copied as Markdown" : ""}</span>
        </div>
        <p class="cost number">
          <b>{answer.method}</b> {seconds(answer.usage.seconds)} · {nouns(answer.usage.calls, "call")}
          {answer.usage.cached_calls > 0 && ` (${count(answer.usage.cached_calls)} from the cache)`} · {nouns(tokens(answer.usage), "token")} ·{" "}
          {money(answer.usage.cost)}
          {answer.extractive && " · sentences from the documents"}
        </p>
      </div>
      {shown && (
        <section class="behind" aria-label={shown}>
          <h3 class="visually-hidden">{shown}</h3>
          {shown === "why" && retrieval && <Why retrieval={retrieval} />}
          {shown === "path" && <Paths answer={answer} retrieval={retrieval} />}
          {shown === "evidence" &&
            (retrieval ? (
              <EvidenceList retrieval={retrieval} cited={new Set(answer.citations.map((each) => each.n))} />
            ) : (
              <p class="soft">The evidence of this answer is no longer kept.</p>
            ))}
          {shown === "truncated" && retrieval && <Truncated retrieval={retrieval} />}
        </section>
      )}
    </article>
  );
}

/** A method for each need but one. */
function offers(index: IndexSummary, but?: Need): Method[] {
  const needs: Need[] = ["one fact", "several steps", "overview"];
  return needs.filter((each) => each !== but).map((each) => suggested(index.methods, each)).filter((each) => each !== undefined);
}

function Offers({ methods, onChoose }: { methods: Method[]; onChoose: (method: string) => void }) {
  return (
    <>
      {methods.map((each) => (
        <button type="button" key={each.name} onClick={() => onChoose(each.name)}>
          {each.name} <span class="soft">{each.need}</span>
        </button>
      ))}
    </>
  );
}

/** The chosen method cannot answer yet; others may. */
function NotReady({ index, method }: { index: IndexSummary; method: string }) {
  const others = offers(index);
  return (
    <p class="row">
      <span>{method} needs a layer that this index does not have{others.length ? ". Ready:" : ", and so do the other methods."}</span>
      <Offers methods={others} onChoose={(m) => change({ m }, true)} />
    </p>
  );
}

/** What may help after a refusal. */
function Help({ index, turn, onAgain }: { index: IndexSummary; turn: Turn; onAgain: (method: string) => void }) {
  const used = turn.answer?.method;
  const need = index.methods.find((each) => each.name === used)?.need;
  const offered = offers(index, need);
  const because = turn.retrieval?.empty_because;
  const missing = index.methods.filter((each) => !each.ready).length;
  const filtered = Object.keys(turn.where).length > 0;
  return (
    <div class="help">
      {because ? (
        // Most refusals say it themselves.
        !turn.answer?.text.includes(because) && <p>Nothing was found: {because}.</p>
      ) : (
        turn.retrieval && <p class="soft">{nouns(turn.retrieval.evidence.length, "piece")} of evidence {turn.retrieval.evidence.length === 1 ? "was" : "were"} read; none supports an answer.</p>
      )}
      {filtered && <p>The filters may exclude the answer.</p>}
      {offered.length > 0 && (
        <p>
          Try another method: <Offers methods={offered} onChoose={onAgain} />
        </p>
      )}
      {missing > 0 && <p class="soft">{nouns(missing, "method")} of this index need a layer that it does not have.</p>}
    </div>
  );
}

function HistoryMenu({ index, turns }: { index: string; turns: Turn[] }) {
  const mine = turns.filter((turn) => turn.index === index);
  if (!mine.length) return null;
  const threads = new Map<string, Turn[]>();
  for (const turn of mine) threads.set(turn.thread, [...(threads.get(turn.thread) ?? []), turn]);
  const newest = [...threads.values()].sort((a, b) => (b[b.length - 1]?.at ?? 0) - (a[a.length - 1]?.at ?? 0));
  return (
    <Menu label={<><Icon name="history" /> <span class="word">history</span></>} name="History" quiet up>
      {(close) => (
        <div class="history">
          <ul class="choices">
            {newest.slice(0, 30).map((each) => {
              const first = each[0];
              const last = each[each.length - 1];
              if (!first || !last) return null;
              return (
                <li key={last.id}>
                  <button
                    type="button"
                    onClick={() => {
                      go(address(index, "ask", { q: last.question, run: last.id, m: last.method, ...optionParams(last) }));
                      close();
                    }}
                  >
                    <span>{first.question}</span>
                    <span class="soft">
                      {each.length > 1 ? `${nouns(each.length, "question")} · ` : ""}
                      {last.answer?.method} · {new Date(last.at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}
                    </span>
                  </button>
                </li>
              );
            })}
          </ul>
          <p class="row soft">
            Kept in this browser only.
            <button type="button" onClick={() => { forget(new Set(mine.map((turn) => turn.id))); go(address(index, "ask")); close(); }}>
              Forget all
            </button>
          </p>
        </div>
      )}
    </Menu>
  );
}
