/** "Judge this": what judging the compared answers takes, the work, and the verdict on each pair. */

import { useEffect, useState } from "preact/hooks";
import { get, path, send, sentence } from "../lib/api";
import { count, money, nouns, score } from "../lib/format";
import { address, change } from "../lib/route";
import type { IndexSummary, Job } from "../lib/types";
import { followJobs, JobRow } from "./jobs";
import type { Options } from "./options";

interface Plan {
  study: string;
  questions: number;
  judge: string;
  calls: number;
  cost: number | null;
}

interface Pair {
  a: string;
  b: string;
  better: string;
  scores: Record<string, [number, number]>;
  orders: "agree" | "disagree" | "unknown";
  judgements: number;
  reasons: Record<string, string>;
}

interface Verdict {
  study: string;
  questions: number;
  judge: string;
  pairs: Pair[];
  notes: string[];
}

interface Props {
  index: IndexSummary;
  question: string;
  methods: string[];
  options: Options;
  /** Id of the job that judges, from the address. */
  job: string | null;
}

export function Judge({ index, question, methods, options, job }: Props) {
  const [plan, setPlan] = useState<Plan | null>(null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    setPlan(null);
    setProblem("");
  }, [question, methods.join(), options.budget, options.form]);
  const call = <T,>(more: object): Promise<T> =>
    send<T>("POST", path("indexes", index.name, "judge"), {
      question,
      methods,
      ...(options.budget ? { max_tokens: options.budget } : {}),
      ...(options.form ? { form: options.form } : {}),
      ...more,
    });
  const guarded = async (work: () => Promise<void>) => {
    setProblem("");
    setBusy(true);
    try {
      await work();
    } catch (error) {
      setProblem(sentence(error));
    }
    setBusy(false);
  };
  const begin = () =>
    guarded(async () => {
      const { job: id } = await call<{ job: string }>({});
      setPlan(null);
      change({ judged: id }, true);
      followJobs();
    });
  if (!index.writable) return null;
  const filtered = Object.keys(options.where).length > 0;
  return (
    <section class="judge" aria-label="Judging">
      {job ? (
        <Judged index={index} job={job} />
      ) : plan ? (
        <div class="estimate" role="group" aria-label="What judging takes">
          <p>
            {plan.judge
              ? plan.calls
                ? <>{plan.judge} judges each pair of answers in both orders and at equal length: {nouns(plan.calls, "call")}, <span class="number">{plan.cost === null ? "price unknown" : `about ${money(plan.cost)}`}</span>, and a few more to align the lengths.</>
                : <>{plan.judge} has judged these answers already; nothing is paid again.</>
              : <>No chat model is configured, so nothing is judged now. The answers are added to the study, where people can rate them.</>}{" "}
            Including this one, the study has {nouns(plan.questions, "question")}.
          </p>
          <p class="row">
            <button type="button" class="main" disabled={busy} onClick={() => void begin()}>{!plan.judge ? "Add to the study" : plan.calls ? "Judge" : "Show the verdict"}</button>
            <button type="button" class="quiet" onClick={() => setPlan(null)}>Cancel</button>
          </p>
        </div>
      ) : (
        <p class="row">
          <button type="button" disabled={busy || filtered} onClick={() => void guarded(async () => setPlan(await call<Plan>({ dry_run: true })))}>Judge this</button>
          <span class="soft">{filtered ? "A study searches all documents. Remove the filters to judge." : "adds the question to a study of these methods"}</span>
        </p>
      )}
      {problem && <p class="problem" role="alert">{problem}</p>}
    </section>
  );
}

function Judged({ index, job }: { index: IndexSummary; job: string }) {
  const [found, setFound] = useState<Job | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let timer = 0;
    const stop = new AbortController();
    const look = async () => {
      try {
        const now = await get<Job>(path("jobs", job), stop.signal);
        setFound(now);
        if (now.state === "queued" || now.state === "running") timer = window.setTimeout(() => void look(), 700);
      } catch (error) {
        if (!stop.signal.aborted) setProblem(sentence(error));
      }
    };
    void look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [job]);
  const again = <button type="button" class="quiet" onClick={() => change({ judged: null }, true)}>Judge again</button>;
  if (problem) return <p class="problem" role="alert">{problem} {again}</p>;
  if (!found) return null;
  if (found.state !== "done") {
    return (
      <div aria-live="polite">
        <JobRow job={found} />
        {(found.state === "failed" || found.state === "cancelled") && again}
      </div>
    );
  }
  const verdict = found.report as unknown as Verdict;
  return (
    <div aria-live="polite">
      <h2>{verdict.judge ? `Judged by ${verdict.judge}` : "In the study, not judged yet"}</h2>
      {verdict.pairs.map((pair) => <PairOf key={`${pair.a} ${pair.b}`} pair={pair} />)}
      {verdict.notes.map((note) => <p class="note" key={note}>{note}</p>)}
      <p class="soft">
        One question proves nothing. The study of these methods now has {nouns(verdict.questions, "question")}:{" "}
        <a href={address(index.name, "evaluate", { s: verdict.study })}>see its report</a>.
      </p>
    </div>
  );
}

function PairOf({ pair }: { pair: Pair }) {
  const aspects = Object.entries(pair.scores);
  return (
    <details class="pair">
      <summary>
        {pair.better ? (
          <><b>{pair.better}</b> is better than {pair.better === pair.a ? pair.b : pair.a}</>
        ) : (
          <>{pair.a} and {pair.b} are tied</>
        )}
        {pair.orders === "disagree" && <span class="note"> The verdict depends on which answer was shown first.</span>}
      </summary>
      <div class="wide" tabIndex={0} role="region" aria-label={`Scores of ${pair.a} and ${pair.b}`}>
        <table class="measures stacked">
          <caption>Mean scores from 0 to 5 over {count(pair.judgements)} judgements; in the reasons, the first answer is that of {pair.a}</caption>
          <thead>
            <tr>
              <th scope="col">aspect</th>
              <th scope="col" class="n">{pair.a}</th>
              <th scope="col" class="n">{pair.b}</th>
              <th scope="col" class="after">reason</th>
            </tr>
          </thead>
          <tbody>
            {aspects.map(([aspect, [a, b]]) => (
              <tr key={aspect}>
                <th scope="row">{aspect}</th>
                <td class="n" data-label={pair.a}>{score(a)}</td>
                <td class="n" data-label={pair.b}>{score(b)}</td>
                <td class="soft after" data-label="reason">{pair.reasons[aspect] ?? ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
