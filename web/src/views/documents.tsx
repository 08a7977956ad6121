import { useEffect, useRef, useState } from "preact/hooks";
import { get, path, request, send, sentence } from "../lib/api";
import { count, documentName, money, nouns, size } from "../lib/format";
import { useLoad } from "../lib/load";
import { change, openDocument } from "../lib/route";
import type { DocumentRow, IndexSummary, Json } from "../lib/types";
import { DocumentPane, spanOf } from "../parts/document";
import { Icon } from "../parts/icons";
import { followJobs, isActive, JobRow, useJobs } from "../parts/jobs";

interface Page {
  documents: DocumentRow[];
  unread: { path: string; reason: string }[];
  next: string | null;
}

interface Props {
  index: IndexSummary;
  params: URLSearchParams;
  onChanged: () => void;
}

const LIMIT = 100;
/** Jobs that change no document. */
const OF_ENTITIES = new Set(["judge", "merge", "split", "rename", "undo"]);

export function Documents({ index, params, onChanged }: Props) {
  const q = params.get("q") ?? "";
  const base = `${path("indexes", index.name, "documents")}?limit=${LIMIT}${q ? `&q=${encodeURIComponent(q)}` : ""}`;
  const first = useLoad<Page>(base);
  const [more, setMore] = useState<DocumentRow[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  const [removing, setRemoving] = useState<DocumentRow | null>(null);
  /** The button that asked, to which the focus returns. */
  const asking = useRef<HTMLButtonElement | null>(null);
  const jobs = useJobs().filter((job) => job.index === index.name);
  const done = jobs.filter((job) => job.state === "done").length;
  useEffect(() => {
    setMore([]);
    setNext(first.data?.next ?? null);
  }, [first.data]);
  const before = useRef(done);
  useEffect(() => {
    if (done !== before.current) {
      first.again();
      onChanged();
    }
    before.current = done;
  }, [done]);
  const rows = [...(first.data?.documents ?? []), ...more];
  const document = params.get("doc");
  // What was seen at work stays with its outcome until the view is left: nothing below it moves, and what was not read is told.
  const followed = useRef(new Set<string>());
  for (const job of jobs) if (isActive(job)) followed.current.add(job.id);
  const shownJobs = jobs.filter((job) => followed.current.has(job.id) || (job.state === "failed" && !OF_ENTITIES.has(job.kind))).slice(0, 5);
  const remove = async (row: DocumentRow, forget: boolean) => {
    setRemoving(null);
    try {
      await send("DELETE", `${path("indexes", index.name, "documents", row.id)}?forget=${String(forget)}`);
      followJobs();
    } catch (error) {
      setProblem(sentence(error));
    }
  };
  return (
    <div class={`split${document ? " open" : ""}`}>
      <div class="sheet">
        <header>
          <h1>Documents</h1>
          <span class="soft number">
            {count(index.documents)} in {index.name}
          </span>
          <form class="search" role="search" onSubmit={(event) => event.preventDefault()}>
            <input type="search" aria-label="Find a document" placeholder="Find a document" value={q} onInput={(event) => change({ q: event.currentTarget.value }, true)} />
          </form>
        </header>
        {index.writable ? <Add index={index} onSent={followJobs} /> : <p class="soft">This index is read-only.</p>}
        {shownJobs.length > 0 && (
          <section aria-label="Jobs of this index" aria-live="polite">
            {shownJobs.map((job) => <JobRow key={job.id} job={job} />)}
          </section>
        )}
        {(problem || first.error) && <p class="problem" role="alert">{problem || first.error}</p>}
        {removing && <Remove row={removing} onRemove={(forget) => void remove(removing, forget)} onKeep={() => { setRemoving(null); asking.current?.focus(); }} />}
        {rows.length > 0 ? (
          <section aria-label="Documents of the index">
            <table class="documents-table">
              <thead>
                <tr>
                  <th scope="col">document</th>
                  <th scope="col" class="n optional">size</th>
                  <th scope="col" class="n optional">passages</th>
                  <th scope="col" class="n optional">entities</th>
                  <th scope="col"><span class="visually-hidden">actions</span></th>
                </tr>
              </thead>
              <tbody>
                {rows.map((row) => (
                  <tr key={row.id} class={row.id === document ? "on" : ""}>
                    <td>
                      <button type="button" class="link" onClick={() => openDocument(row.id)}>{row.title || documentName(row.id)}</button>
                      {row.title && row.title !== documentName(row.id) && <span class="soft path">{documentName(row.id)}</span>}
                    </td>
                    <td class="n optional">{size(row.size_bytes)}</td>
                    <td class="n optional">{count(row.chunks)}</td>
                    <td class="n optional">{count(row.entities)}</td>
                    <td>
                      {index.writable && (
                        <button type="button" class="quiet" aria-label={`Remove ${row.title || documentName(row.id)}`} onClick={(event) => { asking.current = event.currentTarget; setRemoving(row); }}>remove</button>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            {next && (
              <p>
                <button
                  type="button"
                  onClick={async () => {
                    try {
                      const page = await get<Page>(`${base}&cursor=${encodeURIComponent(next)}`);
                      setMore([...more, ...page.documents]);
                      setNext(page.next);
                    } catch (error) {
                      setProblem(sentence(error));
                    }
                  }}
                >
                  More documents
                </button>
              </p>
            )}
          </section>
        ) : (
          first.data && <p class="soft hint">{q ? `No document's name contains “${q}”.` : "There are no documents yet."}</p>
        )}
        {(first.data?.unread.length ?? 0) > 0 && (
          <section>
            <h2>Not read</h2>
            <table class="list">
              <tbody>
                {first.data?.unread.map((each) => (
                  <tr key={each.path}>
                    <td class="broken">{documentName(each.path)}</td>
                    <td class="soft">{each.reason}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        )}
      </div>
      {document && <DocumentPane index={index.name} document={document} span={spanOf(params.get("span"))} marks={[]} />}
    </div>
  );
}

function Remove({ row, onRemove, onKeep }: { row: DocumentRow; onRemove: (forget: boolean) => void; onKeep: () => void }) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.focus(), [row.id]);
  return (
    <section
      ref={box}
      class="estimate"
      tabIndex={-1}
      role="alertdialog"
      aria-label="Remove a document"
      onKeyDown={(event) => event.key === "Escape" && onKeep()}
    >
      <p>
        Remove <b>{row.title || documentName(row.id)}</b> from the index? <i>Remove and forget</i> also deletes the stored model replies about it.
      </p>
      <p class="row">
        <button type="button" class="main" onClick={() => onRemove(false)}>Remove</button>
        <button type="button" onClick={() => onRemove(true)}>Remove and forget</button>
        <button type="button" class="quiet" onClick={onKeep}>Cancel</button>
      </p>
    </section>
  );
}

interface Range {
  low: number;
  mid?: number;
  high: number;
}

interface Estimate {
  total?: { cost?: Range | number | null; calls?: Range | number; seconds?: Range | number | null };
  [key: string]: Json | unknown;
}

type Given = { text: string; title: string } | { url: string };
type Adding = { files: File[]; given: null } | { files: null; given: Given };

/** Files, a text or the address of a page to add. Work that costs money is estimated first and begun when that is confirmed. */
function Add({ index, onSent }: { index: IndexSummary; onSent: () => void }) {
  const [over, setOver] = useState(false);
  const [pasting, setPasting] = useState<"" | "text" | "page">("");
  const [waiting, setWaiting] = useState<Adding | null>(null);
  const [estimate, setEstimate] = useState<Estimate | null>(null);
  const [state, setState] = useState("");
  const [problem, setProblem] = useState("");
  const input = useRef<HTMLInputElement>(null);

  const body = (adding: Adding): FormData | Given => {
    if (!adding.files) return adding.given;
    const form = new FormData();
    for (const file of adding.files) form.append("files", file, file.webkitRelativePath || file.name);
    return form;
  };
  const begin = async (adding: Adding) => {
    setWaiting(null);
    setEstimate(null);
    const what = adding.files ? nouns(adding.files.length, "file") : "url" in adding.given ? "the page" : "the text";
    setState(adding.files === null && "url" in adding.given ? "Fetching the page …" : `Sending ${what} …`);
    try {
      await request(path("indexes", index.name, "documents"), optionsOf(body(adding)));
      setState(`Sent ${what}.`);
      setPasting("");
      onSent();
    } catch (error) {
      setState("");
      setProblem(sentence(error));
    }
  };
  const add = async (adding: Adding) => {
    setProblem("");
    if (index.chat_model === null) return begin(adding);
    setState("Estimating the cost …");
    try {
      const found = await send<Estimate>("POST", path("indexes", index.name, "estimate"), body(adding));
      setState("");
      setEstimate(found);
      setWaiting(adding);
    } catch (error) {
      // Without an estimate nothing is begun unasked.
      setState("");
      setEstimate(null);
      setWaiting(adding);
      setProblem(`The cost could not be estimated: ${sentence(error)}`);
    }
  };
  return (
    <>
      <div
        class={`drop${over ? " over" : ""}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          const files = [...(event.dataTransfer?.files ?? [])];
          if (files.length) void add({ files, given: null });
        }}
      >
        <Icon name="upload" />
        <span>Drop files here</span>
        <button type="button" onClick={() => input.current?.click()}>choose files</button>
        <button type="button" aria-expanded={pasting === "text"} onClick={() => setPasting(pasting === "text" ? "" : "text")}>paste text</button>
        <button type="button" aria-expanded={pasting === "page"} onClick={() => setPasting(pasting === "page" ? "" : "page")}>add a web page</button>
        <input
          ref={input}
          type="file"
          multiple
          class="visually-hidden"
          tabIndex={-1}
          aria-label="Files to add"
          onChange={(event) => {
            const files = [...(event.currentTarget.files ?? [])];
            event.currentTarget.value = "";
            if (files.length) void add({ files, given: null });
          }}
        />
        <span class="soft" role="status">{state}</span>
      </div>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {pasting === "page" && (
        <form
          class="paste"
          onSubmit={(event) => {
            event.preventDefault();
            void add({ files: null, given: { url: String(new FormData(event.currentTarget).get("url")) } });
          }}
        >
          <label for="paste-url">Address of the page</label>
          <input id="paste-url" name="url" type="url" required maxLength={2000} placeholder="https://" />
          <p class="row">
            <button type="submit" class="main">Add the page</button>
            <span class="soft">Many pages or a sitemap: <code>polygraph fetch</code></span>
          </p>
        </form>
      )}
      {pasting === "text" && (
        <form
          class="paste"
          onSubmit={(event) => {
            event.preventDefault();
            const form = new FormData(event.currentTarget);
            void add({ files: null, given: { text: String(form.get("text")), title: String(form.get("title")) } });
          }}
        >
          <label for="paste-title">Title</label>
          <input id="paste-title" name="title" required maxLength={200} />
          <label for="paste-text">Text</label>
          <textarea id="paste-text" name="text" required />
          <p><button type="submit" class="main">Add the text</button></p>
        </form>
      )}
      {waiting && (
        <section class="estimate" aria-label="Estimate">
          <h2>{estimate ? "Estimated cost" : "The cost is not known"}</h2>
          {estimate && <p class="number">{described(estimate)}</p>}
          <p class="row">
            <button type="button" class="main" onClick={() => void begin(waiting)}>{estimate ? "Start" : "Start anyway"}</button>
            <button type="button" class="quiet" onClick={() => { setWaiting(null); setEstimate(null); setProblem(""); }}>Cancel</button>
          </p>
        </section>
      )}
    </>
  );
}

function optionsOf(body: FormData | Given): RequestInit {
  return body instanceof FormData
    ? { method: "POST", body }
    : { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
}

function described(estimate: Estimate): string {
  const total = estimate.total ?? {};
  const range = (value: Range | number | null | undefined, show: (n: number) => string): string => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return show(value);
    return value.low === value.high ? show(value.low) : `${show(value.low)} to ${show(value.high)}`;
  };
  const calls = range(total.calls, (n) => count(Math.round(n)));
  return [calls && `${calls} model ${calls === "1" ? "call" : "calls"}`, range(total.cost, money) || "price unknown"].filter(Boolean).join(", ");
}
