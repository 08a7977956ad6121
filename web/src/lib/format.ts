import type { Usage } from "./types";

const whole = new Intl.NumberFormat("en");

export function count(n: number | null | undefined): string {
  return n === null || n === undefined ? "–" : whole.format(n);
}

export function nouns(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

const KINDS: Record<string, [string, string]> = {
  chunk: ["passage", "passages"],
  entity: ["entity", "entities"],
  relation: ["relation", "relations"],
  report: ["community report", "community reports"],
  summary: ["summary", "summaries"],
};

/** A kind of evidence in the words of the page. */
export function kindName(kind: string, n = 1): string {
  return KINDS[kind]?.[n === 1 ? 0 : 1] ?? kind;
}

export function seconds(s: number | null | undefined): string {
  if (s === null || s === undefined) return "–";
  if (s >= 90) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
  return s >= 10 ? `${s.toFixed(0)} s` : `${s.toFixed(1)} s`;
}

export function money(cost: number | null | undefined): string {
  if (cost === null || cost === undefined) return "price unknown";
  if (cost === 0) return "$0";
  return cost < 0.01 ? `$${cost.toPrecision(2)}` : `$${cost.toFixed(2)}`;
}

export function size(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return "–";
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(bytes < 1e4 ? 1 : 0)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

export function tokens(usage: Usage): number {
  return usage.prompt_tokens + usage.completion_tokens;
}

export function score(value: number): string {
  return Number.isFinite(value) ? value.toPrecision(3) : "–";
}

const UPLOAD = /^[0-9a-f]{16}\//;

/** The id of a document as people read it: of an uploaded file without the hash that keeps its id unique. */
export function documentName(id: string): string {
  return id.replace(UPLOAD, "");
}

export function clip(text: string, most: number): string {
  const flat = text.replace(/\s+/g, " ").trim();
  return flat.length <= most ? flat : `${flat.slice(0, most).replace(/\s\S*$/, "")} …`;
}

/** A metric in the words of the page. */
export function metricName(name: string): string {
  return name.replace(/^chunk_/, "passage ").replace(/_/g, " ").replace(/\bmrr\b/, "MRR").replace(/\bndcg\b/, "nDCG");
}

export function download(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function fileName(text: string, end: string): string {
  const stem = text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60);
  return `${stem || "polygraph"}.${end}`;
}
