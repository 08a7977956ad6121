/** Work in the background: what is done, what is left, and a way to cancel it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { get, Gone, path, send, sentence } from "../lib/api";
import { count, documentName, money, seconds } from "../lib/format";
import type { Job } from "../lib/types";
import { Menu } from "./menu";

const RUNNING = new Set(["queued", "running"]);
let jobs: Job[] = [];
let timer = 0;
const listeners = new Set<() => void>();

async function refresh(): Promise<void> {
  clearTimeout(timer);
  let gone = false;
  try {
    const found = (await get<{ jobs: Job[] }>("/api/v1/jobs")).jobs ?? [];
    // An estimate is shown where it was asked for.
    jobs = found.filter((job) => job.kind !== "estimate" || isActive(job));
  } catch (error) {
    // Jobs go on, or wait, while the server does not answer.
    gone = error instanceof Gone;
    if (!gone) jobs = [];
  }
  for (const each of listeners) each();
  if (gone || jobs.some(isActive)) timer = window.setTimeout(() => void refresh(), gone ? 3000 : 1000);
}

export function isActive(job: Job): boolean {
  return RUNNING.has(job.state);
}

/** Look at the jobs now, and follow them as long as one runs. */
export function followJobs(): void {
  void refresh();
}

export function useJobs(): Job[] {
  const [, set] = useState(0);
  useEffect(() => {
    const listener = () => set((n) => n + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return jobs;
}

export function JobTray({ onDone }: { onDone: () => void }) {
  const all = useJobs();
  const running = all.filter(isActive);
  const before = useRef(0);
  useEffect(() => followJobs(), []);
  useEffect(() => {
    if (before.current > running.length) onDone();
    before.current = running.length;
  }, [running.length]);
  if (!all.length) return <span class="tray" />;
  return (
    <div class="tray">
      <Menu
        align="right"
        quiet
        name={`jobs ${running.length || all.length}, ${running.length} running`}
        label={
          <span class={running.length ? "busy" : ""}>
            jobs <span class="number">{running.length || all.length}</span>
          </span>
        }
      >
        {() => (
          <ul class="jobs">
            {all.slice(0, 20).map((job) => (
              <li key={job.id}>
                <JobRow job={job} />
              </li>
            ))}
          </ul>
        )}
      </Menu>
    </div>
  );
}

const SHOWN = 3;

/** What a finished job changed in the index. */
function outcome(job: Job): string {
  const report = job.state === "done" && job.report && typeof job.report === "object" ? (job.report as Record<string, unknown>) : {};
  const changes = ["added", "changed", "removed"].map((what) => [report[what], what] as const);
  const unread = Array.isArray(report.unread) ? report.unread.length : 0;
  return [...changes, [unread, "not read"] as const]
    .filter(([n]) => typeof n === "number" && n > 0)
    .map(([n, what]) => `${count(n as number)} ${what}`)
    .join(", ");
}

const KINDS: Record<string, string> = {
  index: "Add documents",
  reread: "Read again",
  remove: "Remove documents",
  revert: "Take back an upload",
  refresh: "Rewrite what was withdrawn",
  retry: "Retry what failed",
  estimate: "Estimate the cost",
  judge: "Judge answers",
  merge: "Merge entities",
  split: "Split an entity",
  rename: "Rename an entity",
  undo: "Undo a decision",
};

const STATES = { queued: "waiting", running: "running", done: "done", failed: "failed", cancelled: "cancelled" };

export function JobRow({ job }: { job: Job }) {
  const [problem, set] = useState("");
  const active = isActive(job);
  const name = KINDS[job.kind] ?? job.kind;
  const share = job.total ? Math.min(1, (job.done ?? 0) / job.total) : null;
  return (
    <div class={`job ${job.state}`}>
      <div class="job-head">
        <b>{name}</b>
        <span class="soft">{job.index}</span>
        <span class={`state ${job.state}`}>{STATES[job.state] ?? job.state}</span>
        {active && (
          <button
            type="button"
            class="quiet"
            aria-label={`cancel: ${name}`}
            onClick={() => {
              send("DELETE", path("jobs", job.id)).then(followJobs, (error: unknown) => set(sentence(error)));
            }}
          >
            cancel
          </button>
        )}
      </div>
      {active && <progress aria-label={`Progress: ${name}`} max={1} {...(share === null ? {} : { value: share })} />}
      {job.about.length > 0 && (
        <p class="about">{job.about.slice(0, SHOWN).map(documentName).join(", ")}{job.about.length > SHOWN && ", …"}</p>
      )}
      <p class="soft number">
        {[
          active ? job.doing?.replaceAll("_", " ") : outcome(job),
          active && job.total ? `${count(job.done)} of ${count(job.total)}` : "",
          job.seconds ? seconds(job.seconds) : "",
          job.cost ? money(job.cost) : "",
          active && job.cost_left ? `${money(job.cost_left)} left` : "",
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {job.message && <p class={job.state === "failed" ? "problem" : "soft"}>{job.message}</p>}
      {problem && <p class="problem" role="alert">{problem}</p>}
    </div>
  );
}
