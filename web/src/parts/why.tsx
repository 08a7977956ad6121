/** What stands behind an answer: trace, evidence, what was truncated, and chains of facts. */

import { useState } from "preact/hooks";
import { count, documentName, kindName, nouns, score } from "../lib/format";
import { address, now, openDocument } from "../lib/route";
import type { Answer, Citation, Evidence, FactPath, Json, Retrieval, Span } from "../lib/types";

/** What is known of the ids in a trace. */
interface Known {
  places: Map<string, Span>;
  titles: Map<string, string>;
}

function placesOf(retrieval: Retrieval): Map<string, Span> {
  const found = new Map<string, Span>();
  for (const item of retrieval.evidence) for (const span of item.spans) if (!found.has(span.chunk)) found.set(span.chunk, span);
  return found;
}

/** Names in traces that are short for readers of the code. */
const WORDS: Record<string, string> = {
  arm: "method",
  arms: "methods",
  bm25: "by words (BM25)",
  chunks: "passages",
  dense: "by meaning (vectors)",
  "empty because": "found nothing because",
  fused: "both rankings fused",
  n: "number",
};

/** A name in a trace as words; of methods within methods, after the name of the method. */
function wordsOf(name: string): string {
  const [first, ...rest] = name.replace(/_/g, " ").split(": ").reverse();
  return [...rest.reverse(), WORDS[first ?? ""] ?? first].join(": ");
}

const COMMUNITY = /^\d+-[0-9a-f]{16}$/;

/** Titles of the reports in the evidence, by the ids of their communities. */
function titlesOf(evidence: Pick<Evidence, "kind" | "id" | "text">[]): Map<string, string> {
  return new Map(evidence.flatMap((item) => (item.kind === "report" && titleOf(item.text) ? [[item.id, titleOf(item.text)] as const] : [])));
}

/** The heading with which a report begins. */
function titleOf(text: string): string {
  return /^# (.+)/.exec(text)?.[1] ?? "";
}

/** Ids of passages end in `:n`; those of the evidence are known with their places. Communities are shown in the graph. */
function Id({ id, known }: { id: string; known: Known }) {
  const span = known.places.get(id);
  if (COMMUNITY.test(id)) return <a href={address(now().index, "graph", { community: id })}>{known.titles.get(id) ?? "a community"}</a>;
  if (!span) return <span class="id">{documentName(id)}</span>;
  return (
    <button type="button" class="link id" onClick={() => openDocument(span.document, span.start, span.end)}>
      {documentName(id)}
    </button>
  );
}

export function Why({ retrieval }: { retrieval: Retrieval }) {
  const known = { places: placesOf(retrieval), titles: titlesOf(retrieval.evidence) };
  return (
    <div class="why">
      <p class="soft">
        {retrieval.method} found {nouns(retrieval.ranking.length, "passage")} and put{" "}
        {nouns(retrieval.evidence.length, "piece")} of evidence into {count(retrieval.n_tokens)} tokens of context.
      </p>
      {retrieval.empty_because && <p class="problem">Nothing was found: {retrieval.empty_because}</p>}
      <ol class="steps">
        {retrieval.trace.map((step, i) => (
          <li key={i}>
            <h4>{wordsOf(step.name)}</h4>
            <Value value={step.value} known={known} />
          </li>
        ))}
        <li>
          <h4>evidence</h4>
          <table class="list">
            <tbody>
              {retrieval.evidence.map((item, i) => (
                <tr key={i}>
                  <td class="n">{i + 1}</td>
                  <td>
                    <span class="tag">{kindName(item.kind)}</span>{" "}
                    <Id id={item.spans[0] && item.kind === "chunk" ? item.spans[0].chunk : item.id} known={known} />
                    <div class="soft">{item.why}</div>
                  </td>
                  <td class="n">{score(item.score)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </li>
      </ol>
    </div>
  );
}

const FIRST = 8;

function Value({ value, known, depth = 0 }: { value: Json; known: Known; depth?: number }) {
  const [all, show] = useState(false);
  if (Array.isArray(value)) {
    if (!value.length) return <span class="soft">none</span>;
    const rows = all ? value : value.slice(0, FIRST);
    return (
      <>
        <table class="list">
          <tbody>
            {rows.map((row, i) => (
              <tr key={i}>
                <td class="n soft">{i + 1}</td>
                {Array.isArray(row) && row.every((each) => typeof each !== "object" || each === null) ? (
                  row.map((each, j) => (
                    <td key={j} class={typeof each === "number" ? "n" : ""}>
                      <Scalar value={each} known={known} />
                    </td>
                  ))
                ) : (
                  <td>
                    <Value value={row} known={known} depth={depth + 1} />
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
        {value.length > FIRST && (
          <button type="button" class="link" onClick={() => show(!all)}>
            {all ? "fewer" : `${count(value.length - FIRST)} more`}
          </button>
        )}
      </>
    );
  }
  if (value && typeof value === "object") {
    return (
      <dl class="values">
        {Object.entries(value).map(([key, each]) => (
          <div key={key}>
            <dt>{wordsOf(key)}</dt>
            <dd>{depth < 4 ? <Value value={each} known={known} depth={depth + 1} /> : <Scalar value={JSON.stringify(each)} known={known} />}</dd>
          </div>
        ))}
      </dl>
    );
  }
  return <Scalar value={value} known={known} />;
}

function Scalar({ value, known }: { value: Json; known: Known }) {
  if (typeof value === "number") return <span class="number">{Number.isInteger(value) ? count(value) : score(value)}</span>;
  if (typeof value === "boolean") return <>{value ? "yes" : "no"}</>;
  if (value === null || value === "") return <span class="soft">–</span>;
  const text = String(value);
  return known.places.has(text) || COMMUNITY.test(text) ? <Id id={text} known={known} /> : <span class="broken">{text}</span>;
}

export function EvidenceList({ retrieval, cited }: { retrieval: Retrieval; cited: Set<number> }) {
  return (
    <>
      <p class="soft">
        The context as the model sees it: {nouns(retrieval.evidence.length, "block")}, {count(retrieval.n_tokens)} tokens.
      </p>
      <ol class="evidence">
        {retrieval.evidence.map((item, i) => (
          <Item key={i} n={i + 1} item={item} span={item.spans[0]} cited={cited.has(i + 1)} />
        ))}
      </ol>
    </>
  );
}

/** The evidence of one column of a comparison: of which kinds, and what no other column has. */
export function ComparedEvidence({ answer }: { answer: Answer }) {
  const kinds = new Map<string, number>();
  for (const { kind } of answer.evidence) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  const alone = new Set(answer.alone);
  if (!answer.evidence.length) return null;
  return (
    <details class="compared-evidence">
      <summary>
        Evidence: {[...kinds].map(([kind, n]) => `${count(n)} ${kindName(kind, n)}`).join(", ")}
        {answer.alone && `; ${count(alone.size)} alone`}
      </summary>
      <ol class="evidence">
        {answer.evidence.map((item, i) => {
          const citation = answer.citations.find((each) => each.n === i + 1);
          return <Item key={i} n={i + 1} item={item} span={citation ?? (item.document ? { document: item.document } : undefined)} cited={Boolean(citation)} alone={alone.has(i + 1)} />;
        })}
      </ol>
    </details>
  );
}

interface ItemProps {
  n: number;
  item: Pick<Evidence, "kind" | "id" | "score" | "text">;
  span: { document: string; start?: number; end?: number } | undefined;
  cited: boolean;
  /** Whether no other method of a comparison has it. */
  alone?: boolean;
}

function Item({ n, item, span, cited, alone = false }: ItemProps) {
  const title = item.kind === "report" ? titleOf(item.text) : "";
  const name = title || documentName(span && (item.kind === "chunk" || COMMUNITY.test(item.id)) ? span.document : item.id);
  return (
    <li class={cited ? "cited" : ""}>
      <div class="evidence-head">
        <span class="block-number">{n}</span>
        <span class="tag">{kindName(item.kind)}</span>
        {span ? (
          <button type="button" class={title ? "link" : "link id"} onClick={() => openDocument(span.document, span.start, span.end)}>
            {name}
          </button>
        ) : (
          <span class={title ? "" : "id"}>{name}</span>
        )}
        {cited && <span class="tag on">cited</span>}
        {alone && <span class="tag alone">alone</span>}
        <span class="soft number">{score(item.score)}</span>
      </div>
      <Block text={title ? item.text.slice(title.length + 2).trimStart() : item.text} />
    </li>
  );
}

function Block({ text }: { text: string }) {
  const [whole, show] = useState(false);
  const long = text.length > 420;
  return (
    <>
      <p class="block">{long && !whole ? `${text.slice(0, 360).trimEnd()} …` : text}</p>
      {long && (
        <button type="button" class="link" onClick={() => show(!whole)}>
          {whole ? "less" : "all of it"}
        </button>
      )}
    </>
  );
}

export function Truncated({ retrieval }: { retrieval: Retrieval }) {
  return (
    <table class="list truncated">
      <caption>Found, and left out of the context because its budget was spent</caption>
      <thead>
        <tr>
          <th>kind</th>
          <th class="n">pieces</th>
          <th class="n">tokens</th>
          <th class="n">budget of their block</th>
        </tr>
      </thead>
      <tbody>
        {retrieval.cuts.map((cut, i) => (
          <tr key={i}>
            <td>{kindName(cut.kind, cut.n_items)}</td>
            <td class="n">{count(cut.n_items)}</td>
            <td class="n">{count(cut.n_tokens)}</td>
            <td class="n">{count(cut.budget)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Paths({ answer, retrieval }: { answer: Answer; retrieval: Retrieval | null }) {
  const known = retrieval ? placesOf(retrieval) : new Map<string, Span>();
  const paths = answer.paths ?? [];
  if (!paths.length) return <p class="soft">No chain of facts is known for this answer.</p>;
  return (
    <ol class="paths">
      {paths.map((path, i) => (
        <li key={i}>
          <Chain path={path} known={known} citation={answer.citations[i]} />
        </li>
      ))}
    </ol>
  );
}

function Chain({ path, known, citation }: { path: FactPath; known: Map<string, Span>; citation: Citation | undefined }) {
  const to = (chunk: string) => {
    const span = citation?.chunk === chunk ? citation : known.get(chunk);
    if (span) openDocument(span.document, span.start, span.end);
  };
  const reachable = (chunk: string) => citation?.chunk === chunk || known.has(chunk);
  return (
    <div class="chain">
      <span class="node question-node">question</span>
      {path.start ? (
        <>
          <span class="edge">{path.named ? "names" : "is near"}</span>
          <span class="node">{path.start}</span>
          {path.facts.map((fact, i) => (
            <span key={i} class="hop">
              <span class="edge">
                {reachable(fact.chunk) ? (
                  <button type="button" class="link" onClick={() => to(fact.chunk)}>
                    {fact.sentence}
                  </button>
                ) : (
                  fact.sentence
                )}
              </span>
              <span class="node">{fact.to}</span>
            </span>
          ))}
          <span class="edge">{path.facts.length ? "stated in" : "mentioned in"}</span>
        </>
      ) : (
        <span class="edge">{path.text}</span>
      )}
      <button type="button" class="node source" onClick={() => to(path.chunk)}>
        <span class="block-number">{path.n}</span> {citation?.title || documentName(path.chunk)}
      </button>
    </div>
  );
}
