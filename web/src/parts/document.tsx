/** A document beside what is read from it, with the cited sentence marked. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { path } from "../lib/api";
import { documentName, nouns } from "../lib/format";
import { useLoad } from "../lib/load";
import { change, DOCUMENT, openDocument } from "../lib/route";
import type { DocumentText, Span } from "../lib/types";
import { Icon } from "./icons";

interface Props {
  index: string;
  document: string;
  span: [number, number] | null;
  /** Places that the answer cites, in the order of the answer, for the way from one to the next. */
  marks: Span[];
}

export function spanOf(text: string | null): [number, number] | null {
  const match = /^(\d+)-(\d+)$/.exec(text ?? "");
  return match ? [Number(match[1]), Number(match[2])] : null;
}

export function DocumentPane({ index, document: id, span, marks }: Props) {
  // Long documents come in windows: the one around the span, or from a character on.
  const [from, setFrom] = useState<number | null>(null);
  const query = from !== null ? `?start=${from}` : span ? `?span=${span[0]}-${span[1]}` : "";
  const found = useLoad<DocumentText>(
    path("indexes", index, "documents", id) + query,
  );
  const pane = useRef<HTMLElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const text = found.data?.id === id ? found.data : null;
  const place = marks.findIndex((mark) => mark.document === id && mark.start === span?.[0] && mark.end === span?.[1]);

  useEffect(() => setFrom(null), [id, span?.[0], span?.[1]]);
  useEffect(() => {
    const mark = body.current?.querySelector("mark.current");
    if (mark && body.current) {
      // The pane alone scrolls; the page keeps its place.
      const inside = body.current;
      if (inside.scrollHeight > inside.clientHeight + 4)
        inside.scrollTop += mark.getBoundingClientRect().top - inside.getBoundingClientRect().top - inside.clientHeight / 3;
      else mark.scrollIntoView({ block: "center" });
    } else if (body.current) body.current.scrollTop = 0;
  }, [text, span?.[0], span?.[1]]);
  // The focus returns to what opened the document.
  useEffect(() => {
    const opener = globalThis.document.activeElement;
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => pane.current?.focus({ preventScroll: true }), [id]);
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (event.key === "Escape" && pane.current?.contains(globalThis.document.activeElement)) change(DOCUMENT);
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);

  const step = (by: number) => {
    const to = marks[(place + by + marks.length) % marks.length];
    if (to) openDocument(to.document, to.start, to.end);
  };
  const page = text?.pages && span ? text.pages.find((each) => each.start <= span[0] && span[0] < each.end) : undefined;
  return (
    <aside class="document" ref={pane} tabIndex={-1} aria-label={`Document ${text?.title || documentName(id)}`}>
      <header>
        <div>
          <h2>{text?.title || documentName(id)}</h2>
          <p class="soft path">
            {documentName(id)}
            {page && `, page ${page.page}`}
          </p>
        </div>
        <button type="button" class="quiet" aria-label="Close the document" onClick={() => change(DOCUMENT)}>
          <Icon name="close" />
        </button>
      </header>
      {text && Object.keys(text.fields ?? {}).length > 0 && (
        <dl class="fields">
          {Object.entries(text.fields).slice(0, 8).map(([key, value]) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>{String(value)}</dd>
            </div>
          ))}
        </dl>
      )}
      <div class="document-text" ref={body} tabIndex={0} role="region" aria-label="Text of the document">
        {found.error && <p class="problem" role="alert">{found.error}</p>}
        {!text && found.loading && <p class="soft">Opening …</p>}
        {text && <Text text={text} span={span} marks={marks} onWindow={setFrom} />}
      </div>
      <footer>
        {marks.length > 0 && (
          <>
            <button type="button" class="quiet" onClick={() => step(-1)}>
              <Icon name="left" /> previous mark
            </button>
            <span class="soft number">{place >= 0 ? `${place + 1} of ${marks.length}` : `${marks.length} marks`}</span>
            <button type="button" class="quiet" onClick={() => step(1)}>
              next mark <Icon name="right" />
            </button>
          </>
        )}
        {text && !marks.length && (
          <span class="soft number">
            {nouns(text.length ?? text.text.length, "character")}
            {text.passages?.length ? `, ${nouns(text.passages.length, "passage")}` : ""}
          </span>
        )}
      </footer>
    </aside>
  );
}

/** Characters that one step back goes. */
const WINDOW = 150_000;

interface TextProps {
  text: DocumentText;
  span: [number, number] | null;
  marks: Span[];
  onWindow: (from: number) => void;
}

function Text({ text, span, marks, onWindow }: TextProps) {
  const start = text.start ?? 0;
  const end = text.end ?? start + text.text.length;
  const length = text.length ?? end;
  const pieces = useMemo(() => {
    // Characters, not UTF-16 units: offsets of the index count characters.
    const characters = Array.from(text.text);
    const own = marks.filter((mark) => mark.document === text.id).map((mark): [number, number] => [mark.start, mark.end]);
    const ranges = [...own, ...(span ? [span] : [])];
    const pages = (text.pages ?? []).map((each) => each.start).filter((at) => at > start && at < end);
    const edges = new Set([start, end, ...pages]);
    for (const [a, b] of ranges) {
      edges.add(Math.min(Math.max(a, start), end));
      edges.add(Math.min(Math.max(b, start), end));
    }
    const sorted = [...edges].sort((a, b) => a - b);
    return sorted.slice(0, -1).map((from, i) => {
      const to = sorted[i + 1] ?? end;
      const inside = (range: [number, number] | null) => range !== null && range[0] <= from && to <= range[1];
      return {
        from,
        text: characters.slice(from - start, to - start).join(""),
        current: inside(span),
        marked: ranges.some(inside),
        page: text.pages?.find((each) => each.start === from)?.page,
      };
    });
  }, [text, span?.[0], span?.[1], marks]);
  return (
    <>
      {start > 0 && (
        <button type="button" class="quiet" onClick={() => onWindow(Math.max(0, start - WINDOW))}>
          Earlier text
        </button>
      )}
      <div class="prose">
        {pieces.map((piece) => (
          <span key={piece.from}>
            {piece.page !== undefined && <span class="page-number">page {piece.page}</span>}
            {piece.marked ? <mark class={piece.current ? "current" : ""}>{piece.text}</mark> : piece.text}
          </span>
        ))}
      </div>
      {end < length && (
        <button type="button" class="quiet" onClick={() => onWindow(end)}>
          Later text
        </button>
      )}
    </>
  );
}
