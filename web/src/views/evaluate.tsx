import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { path, request, sentence } from "../lib/api";
import { clip, metricName, nouns } from "../lib/format";
import { useLoad } from "../lib/load";
import { colour } from "../lib/palette";
import { address, change, go } from "../lib/route";
import type { IndexSummary, Json, Study } from "../lib/types";
import { Markdown } from "../parts/markdown";
import { NEEDS } from "../parts/methods";
import { Swatch } from "./graph";
import { RetrievalTable, type EvaluationSummary } from "./retrieval-table";

interface Props {
  index: IndexSummary;
  params: URLSearchParams;
}

export function Evaluate({ index, params }: Props) {
  const studies = useLoad<{ studies: Study[] }>("/api/v1/studies");
  const evaluations = useLoad<{ evaluations: EvaluationSummary[] }>("/api/v1/evaluations");
  // Each section stands below those before it: shown as they come, they would push one another down.
  const loaded = (studies.data || studies.error) && (evaluations.data || evaluations.error);
  const measured = evaluations.data?.evaluations ?? [];
  const evaluation = params.get("r");
  const chosen = params.get("s");
  const study = studies.data?.studies.find((each) => each.name === chosen);
  const missing = chosen && !study && !evaluation && (studies.data || studies.error);
  return (
    <div class="sheet">
      <header>
        <h1>{evaluation ?? study?.name ?? "Evaluate"}</h1>
        {(study || evaluation || missing) && <button type="button" class="link" onClick={() => change({ s: null, r: null, show: null })}>all studies and evaluations</button>}
      </header>
      {evaluation ? (
        <RetrievalTable key={evaluation} name={evaluation} />
      ) : study ? (
        <StudyView key={study.name} study={study} />
      ) : missing ? (
        <p class="problem" role="alert">{studies.error || `There is no study ${chosen}.`}</p>
      ) : !loaded ? (
        <p class="soft late" role="status">Loading …</p>
      ) : (
        <>
          {studies.data && studies.data.studies.length > 0 ? (
            <section>
              <h2>Studies</h2>
              <div class="wide" tabIndex={0} role="region" aria-label="Studies">
                <table>
                  <tbody>
                    {studies.data.studies.map((each) => (
                      <tr key={each.name}>
                        <th scope="row"><button type="button" class="link" onClick={() => change({ s: each.name })}>{each.name}</button></th>
                        <td class="soft">{facts(each)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </section>
          ) : studies.error ? (
            <p class="soft">{studies.error}</p>
          ) : (
            studies.data &&
            !measured.length && (
              <section class="recommendation">
                <h2>No studies yet</h2>
                <p>
                  In a study, several methods answer the same questions, and a judge that does not see their names scores the answers.
                  Compare methods and choose <i>Judge this</i>, or start one with <code>polygraph eval run</code> and serve its
                  folder with <code>--studies DIR</code>.
                </p>
              </section>
            )
          )}
          {measured.length > 0 && (
            <section>
              <h2>Retrieval</h2>
              <table>
                <tbody>
                  {measured.map((each) => (
                    <tr key={each.name}>
                      <th scope="row"><button type="button" class="link" onClick={() => change({ r: each.name })}>{each.name}</button></th>
                      <td class="soft">{nouns(each.questions, "question")} · {each.methods.join(", ")} · {metricName(each.metric)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
          )}
          {evaluations.error && <p class="soft">{evaluations.error}</p>}
          <Methods index={index} />
        </>
      )}
    </div>
  );
}

function facts(study: Study): string {
  return [nouns(study.questions, "question"), nouns(study.answers, "answer"), nouns(study.judgements, "judgement")].join(" · ");
}

interface Described {
  name: string;
  summary: string;
  calls: Json;
  tokens: Json;
  good: string;
  bad: string;
  source: string;
  need: string;
}

function Methods({ index }: { index: IndexSummary }) {
  const methods = useLoad<{ methods: Described[] }>("/api/v1/methods");
  const shown = (methods.data?.methods ?? []).filter((each) => !each.name.includes(":"));
  if (!shown.length) return null;
  return (
    <section>
      <h2>Methods, by what a question needs</h2>
      {NEEDS.map(([need, title]) => {
        const mine = shown.filter((each) => each.need === need);
        if (!mine.length) return null;
        return (
          <div class="wide" key={need} tabIndex={0} role="region" aria-label={title}>
            <table class="methods-table stacked texts">
              <caption>{title}</caption>
              <thead>
                <tr><th scope="col">method</th><th scope="col">calls per question</th><th scope="col">good for</th><th scope="col">weak at</th></tr>
              </thead>
              <tbody>
                {mine.map((each) => (
                  <tr key={each.name}>
                    <th scope="row">
                      <button type="button" class="link" disabled={!index.methods.find((m) => m.name === each.name)?.ready} onClick={() => go(address(index.name, "ask", { m: each.name }))}>
                        {each.name}
                      </button>
                    </th>
                    <td class="number" data-label="calls per question">{String(each.calls)}</td>
                    <td data-label="good for"><Markdown text={each.good} /></td>
                    <td class="soft" data-label="weak at"><Markdown text={each.bad} /></td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        );
      })}
    </section>
  );
}

function StudyView({ study }: { study: Study }) {
  const detail = useLoad<Record<string, Json>>(path("studies", study.name));
  const recommendation = detail.data?.recommendation;
  return (
    <>
      {recommendation && (
        <section class="recommendation" aria-label="Recommendation">
          <h2>Recommendation</h2>
          {(Array.isArray(recommendation) ? recommendation : [recommendation]).map((each, i) => <p key={i}>{typeof each === "string" ? each : JSON.stringify(each)}</p>)}
        </section>
      )}
      <p class="soft">{facts(study)}</p>
      <Points study={study.name} />
      <section>
        <h2>Report</h2>
        <Report study={study.name} />
      </section>
    </>
  );
}

declare global {
  interface Window {
    trustedTypes?: { createPolicy: (name: string, rules: { createHTML: (text: string) => string }) => { createHTML: (text: string) => string } };
  }
}
const policy = window.trustedTypes?.createPolicy("polygraph-report", { createHTML: (text) => text });

/**
 * The report that a study wrote, in a frame without scripts, forms or origin rights of its own to act: the sandbox allows
 * this page to read the frame, which it needs to apply the report's style sheet, since the policy forbids inline styles.
 */
function Report({ study }: { study: string }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    const stop = new AbortController();
    request(path("studies", study, "report"), { signal: stop.signal })
      .then((response) => response.text())
      .then(setText)
      .catch((error: unknown) => !stop.signal.aborted && setProblem(sentence(error)));
    return () => stop.abort();
  }, [study]);
  useEffect(() => {
    const made = frame.current;
    if (!made || !text) return;
    const style = () => {
      const inside = made.contentDocument;
      const sheets = made.contentWindow as (Window & { CSSStyleSheet: typeof CSSStyleSheet }) | null;
      if (!inside || !sheets) return;
      for (const each of inside.querySelectorAll("style")) {
        const sheet = new sheets.CSSStyleSheet();
        sheet.replaceSync(each.textContent ?? "");
        inside.adoptedStyleSheets.push(sheet);
      }
      for (const each of inside.querySelectorAll<HTMLElement>("[style]")) each.style.cssText = each.getAttribute("style") ?? "";
    };
    made.addEventListener("load", style, { once: true });
    made.srcdoc = (policy ? policy.createHTML(text) : text) as string;
  }, [text]);
  if (problem) return <p class="soft">{problem}</p>;
  return (
    <>
      <iframe ref={frame} class="report-frame" title={`Report of ${study}`} sandbox="allow-same-origin" />
    </>
  );
}

interface Point {
  x: number;
  y: number;
  method: string;
  question?: string;
  text?: string;
}

function Points({ study }: { study: string }) {
  const found = useLoad<{ points: Point[] }>(path("studies", study, "points"));
  const [over, setOver] = useState<Point | null>(null);
  const [off, setOff] = useState<Set<string>>(new Set());
  const points = found.data?.points ?? [];
  const methods = useMemo(() => [...new Set(points.map((each) => each.method))].sort(), [points]);
  if (!points.length) return null;
  const xs = points.map((each) => each.x);
  const ys = points.map((each) => each.y);
  const scale = (value: number, values: number[], length: number) => {
    const low = Math.min(...values);
    const high = Math.max(...values);
    return 16 + ((value - low) / (high - low || 1)) * (length - 32);
  };
  return (
    <section>
      <h2>Answers in two dimensions</h2>
      <p class="soft">{nouns(points.length, "answer")}; the closer two are, the more similar their meaning.</p>
      <svg class="points" viewBox="0 0 720 440" role="img" aria-label={`Answers in two dimensions, coloured by method: ${methods.join(", ")}`}>
        {points.filter((each) => !off.has(each.method)).map((each, i) => (
          <circle
            key={i}
            cx={scale(each.x, xs, 720)}
            cy={440 - scale(each.y, ys, 440)}
            r={over === each ? 8 : 5}
            fill={colour(methods.indexOf(each.method))}
            onPointerEnter={() => setOver(each)}
            onPointerLeave={() => setOver(null)}
          />
        ))}
      </svg>
      <ul class="legend" aria-label="Methods">
        {methods.map((each, i) => (
          <li key={each}>
            <button
              type="button"
              class="quiet"
              aria-pressed={!off.has(each)}
              onClick={() => {
                const next = new Set(off);
                if (!next.delete(each)) next.add(each);
                setOff(next);
              }}
            >
              <Swatch color={colour(i)} /> {each}
            </button>
          </li>
        ))}
      </ul>
      <p class="soft" role="status">{over ? `${over.method}: ${clip(over.question ?? "", 120)} ${clip(over.text ?? "", 240)}` : "\u00a0"}</p>
    </section>
  );
}
