/** The passages below a refusal: choosing one opens the document there. */

import { clip, documentName } from "../lib/format";
import { openDocument } from "../lib/route";
import type { Answer, Citation } from "../lib/types";

export function Nearest({ answer }: { answer: Answer }) {
  if (!answer.nearest?.length) return null;
  return (
    <div class="nearest">
      <h3>Nearest passages</h3>
      <ul class="evidence">
        {answer.nearest.map((each) => (
          <li key={each.chunk + each.start}>
            <div class="evidence-head">
              <button type="button" class="link" onClick={() => openDocument(each.document, each.start, each.end)}>
                {each.title || documentName(each.document)}
              </button>
              <span class="soft">{each.place}</span>
            </div>
            <p class="block">{clip(each.quote, 180)}</p>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The passages that an answer shows, which are marked in their documents. */
export function shownPassages(answer: Answer): Citation[] {
  return [...answer.citations, ...(answer.nearest ?? [])];
}
