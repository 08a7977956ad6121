/** Addresses: `#/INDEX/VIEW?parameters`. Everything that a view shows is in its address. */

import { useEffect, useState } from "preact/hooks";

export const VIEWS = ["ask", "compare", "graph", "documents", "evaluate"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  index: string;
  view: View;
  params: URLSearchParams;
}

export function parse(hash: string): Route {
  const text = hash.replace(/^#\/?/, "");
  // A question mark in a question that somebody wrote into the address by hand is part of the question.
  const at = text.includes("?") ? text.indexOf("?") : text.length;
  const [place, query] = [text.slice(0, at), text.slice(at + 1)];
  const [index = "", view = ""] = place.split("/");
  return {
    index: decode(index),
    view: (VIEWS as readonly string[]).includes(view) ? (view as View) : "ask",
    params: new URLSearchParams(query),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export type Changes = Record<string, string | string[] | number | null | undefined>;

export function address(index: string, view: View, changes: Changes = {}, base?: URLSearchParams): string {
  const params = new URLSearchParams(base);
  for (const [key, value] of Object.entries(changes)) {
    params.delete(key);
    if (value === null || value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) params.append(key, String(each));
  }
  const query = params.toString();
  return `#/${encodeURIComponent(index)}/${view}${query ? `?${query}` : ""}`;
}

export function now(): Route {
  return parse(location.hash);
}

/** Change parameters of the present view. */
export function change(changes: Changes, replace = false): void {
  const route = now();
  go(address(route.index, route.view, changes, route.params), replace);
}

export function go(to: string, replace = false): void {
  if (to === location.hash) return;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  for (const each of listeners) each(now());
}

const listeners = new Set<(route: Route) => void>();
addEventListener("popstate", () => {
  for (const each of listeners) each(now());
});

export function useRoute(): Route {
  const [route, set] = useState(now);
  useEffect(() => {
    listeners.add(set);
    set(now());
    return () => void listeners.delete(set);
  }, []);
  return route;
}

export const DOCUMENT = { doc: null, span: null } as const;

export function openDocument(document: string, start?: number, end?: number): void {
  change({ doc: document, span: start === undefined ? null : `${start}-${end}` });
}
