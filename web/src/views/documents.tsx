import type { IndexSummary } from "../lib/types";
export function Documents({ index }: { index: IndexSummary; params: URLSearchParams; onChanged?: () => void }) {
  return <p>{index.name}</p>;
}
