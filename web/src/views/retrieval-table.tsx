import { useState } from "preact/hooks";
import { path } from "../lib/api";
import { count, metricName, money, nouns } from "../lib/format";
import { useLoad } from "../lib/load";

export interface EvaluationSummary {
  name: string;
  metric: string;
  questions: number;
  methods: string[];
}

interface Interval {
  mean: number;
  low: number;
  high: number;
}

interface Measured {
  name: string;
  n: number;
  n_failed: number;
  metrics: Record<string, Interval>;
  ms_per_question: number | null;
  tokens_per_question: number | null;
  cost_per_question: number | null;
}

interface Difference {
  better: string;
  worse: string;
  n: number;
  difference: number;
  decision: string;
  low: number;
  high: number;
  p_holm: number;
  wins: number;
  ties: number;
  losses: number;
}

interface Evaluation {
  name: string;
  metric: string;
  metrics: string[];
  questions: { asked: number; total: number };
  methods: Measured[];
  differences: Difference[];
  conclusions: string[];
  notes: string[];
}

const three = (value: number) => value.toFixed(3);
const signed = (value: number) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
const bounds = (low: string, high: string) => `[${low}, ${high}]`;

/** A retrieval evaluation: methods by metrics with intervals, and the paired differences between methods. */
export function RetrievalTable({ name }: { name: string }) {
  const found = useLoad<Evaluation>(path("evaluations", name));
  const table = found.data;
  if (!table) return <p class="soft" role="status">{found.error || "Loading …"}</p>;
  return (
    <>
      {table.conclusions.length > 0 && (
        <section class="recommendation" aria-label="Conclusions">
          <h2>Conclusions</h2>
          {table.conclusions.map((each, i) => <p key={i}>{each}</p>)}
        </section>
      )}
      <section>
        <h2>Methods by metrics</h2>
        <Methods table={table} />
      </section>
      {table.differences.length > 0 && <Differences table={table} />}
      {table.notes.length > 0 && (
        <section>
          <h2>Notes</h2>
          <ul>{table.notes.map((each, i) => <li key={i}>{each}</li>)}</ul>
        </section>
      )}
    </>
  );
}

interface Column {
  /** What is sorted by. */
  key: string;
  title: string;
  value: (row: Measured) => number | string | null;
  cell: (row: Measured) => string;
  interval?: (row: Measured) => string;
}

function columns(table: Evaluation): Column[] {
  const metrics = [table.metric, ...table.metrics.filter((each) => each !== table.metric)].map((metric) => ({
    key: metric,
    title: metricName(metric),
    value: (row: Measured) => row.metrics[metric]?.mean ?? null,
    cell: (row: Measured) => (row.metrics[metric] ? three(row.metrics[metric].mean) : "–"),
    interval: (row: Measured) => (row.metrics[metric] ? bounds(three(row.metrics[metric].low), three(row.metrics[metric].high)) : ""),
  }));
  return [
    { key: "method", title: "method", value: (row) => row.name, cell: (row) => row.name },
    { key: "questions", title: "questions", value: (row) => row.n, cell: (row) => count(row.n) },
    ...metrics,
    { key: "ms", title: "ms", value: (row) => row.ms_per_question, cell: (row) => (row.ms_per_question === null ? "–" : row.ms_per_question.toFixed(0)) },
    { key: "tokens", title: "tokens", value: (row) => row.tokens_per_question, cell: (row) => (row.tokens_per_question === null ? "–" : count(Math.round(row.tokens_per_question))) },
    { key: "cost", title: "cost", value: (row) => row.cost_per_question, cell: (row) => money(row.cost_per_question) },
  ];
}

function Methods({ table }: { table: Evaluation }) {
  const all = columns(table);
  const [by, setBy] = useState(table.metric);
  const [up, setUp] = useState(false);
  const column = all.find((each) => each.key === by) ?? all[0]!;
  const rows = [...table.methods].sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    const order = typeof x === "string" ? x.localeCompare(String(y)) : x - Number(y);
    return up ? order : -order;
  });
  const sort = (key: string) => {
    setUp(key === by ? !up : key === "method");
    setBy(key);
  };
  // A phone has room for one metric: the one that is sorted by.
  const narrow = column.interval ? column.key : table.metric;
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="Methods by metrics">
      <p class="sort-by">
        <label>
          Sort by{" "}
          <select value={by} onChange={(event) => sort(event.currentTarget.value)}>
            {all.map((each) => <option key={each.key} value={each.key}>{each.title}</option>)}
          </select>
        </label>
        <button type="button" aria-label={up ? "ascending; reverse the order" : "descending; reverse the order"} onClick={() => setUp(!up)}>{up ? "↑" : "↓"}</button>
      </p>
      <table class="stacked">
        <caption>
          {nouns(table.questions.asked, "question")} asked, of {count(table.questions.total)}; means with 95% intervals; ms, tokens
          and cost are per question.
        </caption>
        <thead>
          <tr>
            {all.map((each, i) => (
              <th key={each.key} scope="col" class={i ? "n" : ""} aria-sort={each.key === by ? (up ? "ascending" : "descending") : undefined}>
                <button type="button" class="link" onClick={() => sort(each.key)}>
                  {each.title}
                  <span aria-hidden="true">{each.key === by ? (up ? " ↑" : " ↓") : ""}</span>
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name}</th>
              {all.slice(1).map((each) => (
                <td key={each.key} class={`n${each.interval && each.key !== narrow ? " other" : ""}`} data-label={each.title}>
                  {each.cell(row)} {each.interval && <span class="soft interval">{each.interval(row)}</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Differences({ table }: { table: Evaluation }) {
  return (
    <section>
      <h2>Paired differences in {metricName(table.metric)}</h2>
      <div class="wide" tabIndex={0} role="region" aria-label="Paired differences">
        <table class="stacked">
          <caption>Question by question; intervals and p are corrected for all pairs.</caption>
          <thead>
            <tr>
              <th scope="col">methods</th><th scope="col" class="n">difference</th><th scope="col" class="n">p</th>
              <th scope="col" class="n">wins, ties, losses</th><th scope="col">result</th>
            </tr>
          </thead>
          <tbody>
            {table.differences.map((each) => (
              <tr key={`${each.better} ${each.worse}`}>
                <th scope="row" class="pair-name">{each.better} − {each.worse}</th>
                <td class="n" data-label="difference">{signed(each.difference)} <span class="soft interval">{bounds(signed(each.low), signed(each.high))}</span></td>
                <td class="n" data-label="p">{each.p_holm < 0.001 ? "< 0.001" : three(each.p_holm)}</td>
                <td class="n" data-label="wins, ties, losses">{each.wins}, {each.ties}, {each.losses}</td>
                <td data-label="result">{each.decision === "better" ? `${each.better} is better` : each.decision}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
