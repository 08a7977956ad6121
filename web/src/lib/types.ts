/** The records of the API, as far as the page reads them. */

export type Need = "one fact" | "several steps" | "overview" | "other";

export interface Method {
  name: string;
  ready: boolean;
  need: Need;
  summary: string;
}

export interface IndexSummary {
  name: string;
  documents: number;
  chunks: number;
  entities: number;
  relations: number;
  layers: string[];
  methods: Method[];
  default_method: string;
  chat_model: string | null;
  writable: boolean;
  stale: boolean;
  note?: string;
}

export interface Usage {
  calls: number;
  prompt_tokens: number;
  completion_tokens: number;
  cached_calls: number;
  cached_tokens: number;
  seconds: number;
  cost: number | null;
}

export interface Span {
  document: string;
  chunk: string;
  start: number;
  end: number;
}

export interface Citation extends Span {
  n: number;
  quote: string;
  title: string;
  place?: string;
}

export interface Evidence {
  kind: string;
  id: string;
  text: string;
  score: number;
  spans: Span[];
  why: string;
}

export interface Cut {
  kind: string;
  n_items: number;
  n_tokens: number;
  budget: number;
}

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

export interface Retrieval {
  question: string;
  method: string;
  evidence: Evidence[];
  context: string;
  n_tokens: number;
  ranking: string[];
  cuts: Cut[];
  trace: { name: string; value: Json }[];
  usage: Usage;
  empty_because: string;
}

export interface Fact {
  relation: string;
  sentence: string;
  /** Name of the entity to which it leads. */
  to: string;
  chunk: string;
}

export interface FactPath {
  n: number;
  chunk: string;
  start: string;
  named: boolean;
  end: string;
  facts: Fact[];
  text: string;
}

export interface Answer {
  id?: string;
  text: string;
  refused: boolean;
  citations: Citation[];
  /** Missing in answers that a browser kept before there were any. */
  nearest?: Citation[];
  evidence: { kind: string; id: string; document: string; score: number; text: string }[];
  method: string;
  usage: Usage;
  extractive: boolean;
  notes: string[];
  paths?: FactPath[];
  /** Numbers of evidence, from 1, that no other method of a comparison has. */
  alone?: number[];
}

export interface DocumentRow {
  id: string;
  title: string;
  path?: string;
  size_bytes: number;
  chunks: number;
  entities?: number;
  fields: Record<string, string>;
}

export interface Passage {
  id: string;
  start: number;
  end: number;
}

export interface DocumentText {
  id: string;
  title: string;
  text: string;
  fields: Record<string, string>;
  passages: Passage[];
  span: [number, number] | null;
  pages?: { page: number; start: number; end: number }[];
  start?: number;
  end?: number;
  length?: number;
}

export interface Job {
  id: string;
  kind: string;
  index: string;
  /** What it works on, such as names of files. */
  about: string[];
  state: "queued" | "running" | "done" | "failed" | "cancelled";
  stage: string | null;
  /** The stage in words. */
  doing: string | null;
  done: number | null;
  total: number | null;
  seconds: number | null;
  cost: number | null;
  cost_left: number | null;
  message: string | null;
  created: string | number;
  report: Json;
}

export interface Community {
  id: string;
  level: number;
  title: string;
  size: number;
  x: number;
  y: number;
  parent: string | null;
  rank: number;
}

export interface EntityHit {
  id: string;
  name: string;
  type: string;
  mentions: number;
  x?: number;
  y?: number;
}

export interface Study {
  name: string;
  questions: number;
  answers: number;
  judgements: number;
}
