/** A citation: a small number; pointing at it shows the sentence, choosing it opens the document there. */

import { useRef, useState } from "preact/hooks";
import { clip, documentName } from "../lib/format";
import { openDocument } from "../lib/route";
import type { Citation } from "../lib/types";

interface Props {
  n: number;
  citations: Citation[];
  /** Whether no other column of a comparison cites this passage. */
  alone?: boolean;
  current?: boolean;
}

const WIDTH = 340;

export function Cite({ n, citations, alone = false, current = false }: Props) {
  const button = useRef<HTMLButtonElement>(null);
  const [at, show] = useState<{ left: string; top: string; width: string } | null>(null);
  const first = citations[0];
  if (!first) {
    // While the answer grows, its citations are not checked yet.
    return <span class="cite waiting">{n}</span>;
  }
  const open = () => {
    const box = button.current?.getBoundingClientRect();
    if (!box) return;
    const width = Math.min(WIDTH, innerWidth - 24);
    const left = Math.max(12, Math.min(box.left - 24, innerWidth - width - 12));
    const below = box.bottom + 6;
    show({ left: `${left}px`, top: `${below > innerHeight - 160 ? Math.max(8, box.top - 150) : below}px`, width: `${width}px` });
  };
  return (
    <span class="cite-place" onMouseEnter={open} onMouseLeave={() => show(null)}>
      <button
        ref={button}
        type="button"
        class={`cite${alone ? " alone" : ""}${current ? " current" : ""}`}
        aria-label={`Citation ${n}: ${first.title || documentName(first.document)}${alone ? ", cited by this method only" : ""}`}
        onFocus={open}
        onBlur={() => show(null)}
        onClick={() => {
          show(null);
          openDocument(first.document, first.start, first.end);
        }}
      >
        {n}
      </button>
      {at && (
        <span class="tip" style={at} role="tooltip">
          <span class="tip-title">{first.title || documentName(first.document)}</span>
          <span class="tip-quote">{clip(first.quote, 320)}</span>
          {citations.length > 1 && <span class="soft">and {citations.length - 1} more under this number</span>}
        </span>
      )}
    </span>
  );
}
