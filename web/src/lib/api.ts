/** Calls to the API: the token, errors with their sentence, and events of an answer. */

const KEY = "polygraph.token";

export class Problem extends Error {
  constructor(
    readonly status: number,
    detail: string,
  ) {
    super(detail);
  }
}

/** The server did not answer at all. */
export class Gone extends Problem {
  constructor() {
    super(0, "The server does not answer. Start it again with: polygraph serve");
  }
}

/** Take the token out of the fragment of the address, so that no copied address contains it; tell whether there was one. */
export function takeToken(): boolean {
  const match = /^#token=([\w.~-]+)(&.*)?$/.exec(location.hash);
  if (!match?.[1]) return false;
  sessionStorage.setItem(KEY, match[1]);
  history.replaceState(null, "", location.pathname + (match[2] ? `#${match[2].slice(1)}` : ""));
  return true;
}

export function setToken(token: string): void {
  sessionStorage.setItem(KEY, token.trim());
}

type Listener = (state: Connection) => void;
export type Connection = "ok" | "gone" | "no-token";
let connection: Connection = "ok";
const listeners = new Set<Listener>();

export function onConnection(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function connectionNow(): Connection {
  return connection;
}

export function setConnection(state: Connection): void {
  if (state === connection) return;
  connection = state;
  for (const each of listeners) each(state);
}

export function path(...parts: string[]): string {
  return `/api/v1/${parts.map((part) => part.split("/").map(encodeURIComponent).join("/")).join("/")}`;
}

export async function request(address: string, options: RequestInit = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  const token = sessionStorage.getItem(KEY);
  if (token) headers.set("authorization", `Bearer ${token}`);
  let response: Response;
  try {
    response = await fetch(address, { ...options, headers, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    setConnection("gone");
    throw new Gone();
  }
  if (response.status === 401) setConnection("no-token");
  else setConnection("ok");
  if (!response.ok) throw await problemOf(response);
  return response;
}

async function problemOf(response: Response): Promise<Problem> {
  try {
    const body = (await response.json()) as { detail?: unknown };
    if (typeof body.detail === "string") return new Problem(response.status, forPeople(body.detail));
  } catch {
    // Not JSON: the status must do.
  }
  return new Problem(response.status, `The server answered with status ${response.status}.`);
}

/** An error of the API for people: without the request that programs are advised to make. */
export function forPeople(detail: string): string {
  const text = detail.replace(/\.? [^.:]*: GET \/\S+$/, "");
  return text === detail ? detail : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

export async function get<T>(address: string, signal?: AbortSignal): Promise<T> {
  return (await (await request(address, signal ? { signal } : {})).json()) as T;
}

export async function send<T>(method: string, address: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const options: RequestInit = { method };
  if (signal) options.signal = signal;
  if (body instanceof FormData) options.body = body;
  else if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { "content-type": "application/json" };
  }
  return (await (await request(address, options)).json()) as T;
}

export interface StreamEvent {
  kind: string;
  data: unknown;
  id: string;
}

/**
 * Yield the events of an answer. A connection that breaks is taken up again where it broke.
 */
export async function* stream(address: string, body: unknown, signal: AbortSignal): AsyncGenerator<StreamEvent> {
  let last = "";
  for (let attempt = 0; ; attempt++) {
    const headers: Record<string, string> = { "content-type": "application/json", accept: "text/event-stream" };
    if (last) headers["last-event-id"] = last;
    try {
      const response = await request(address, { method: "POST", body: JSON.stringify(body), headers, signal });
      for await (const event of events(response)) {
        if (event.id) last = event.id;
        attempt = 0;
        yield event;
        if (event.kind === "answer" || event.kind === "error") return;
      }
    } catch (error) {
      // Without an id nothing has begun that could be taken up again.
      const broken = error instanceof Gone || error instanceof TypeError;
      if (!broken || !last || attempt >= 4) throw error;
    }
    if (attempt >= 4) throw new Gone();
    await new Promise((done) => setTimeout(done, 300 * 2 ** attempt));
  }
}

/** Read `text/event-stream`. */
async function* events(response: Response): AsyncGenerator<StreamEvent> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      let kind = "message";
      let data = "";
      let id = "";
      for (const line of block.split("\n")) {
        if (line.startsWith("event: ")) kind = line.slice(7);
        else if (line.startsWith("data: ")) data += line.slice(6);
        else if (line.startsWith("id: ")) id = line.slice(4);
      }
      if (data) yield { kind, data: JSON.parse(data), id };
    }
  }
}

export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
