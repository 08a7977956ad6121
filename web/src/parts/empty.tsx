/** What to do with an index that has no documents. */

import { address, go } from "../lib/route";
import type { IndexSummary } from "../lib/types";

export function NoDocuments({ index }: { index: IndexSummary }) {
  const documents = address(index.name, "documents");
  return (
    <p>
      This index has no documents yet.{" "}
      {index.writable && (
        <>
          <a href={documents} onClick={(event) => { event.preventDefault(); go(documents); }}>Add documents</a> to begin.
        </>
      )}
    </p>
  );
}
