/** Questions and their answers, kept in this browser only. */

import { useEffect, useState } from "preact/hooks";
import type { Answer, Retrieval } from "./types";

const KEY = "polygraph.history";
const MOST = 60;

export interface Turn {
  id: string;
  /** The first turn of the conversation that this one belongs to. */
  thread: string;
  index: string;
  question: string;
  method: string;
  where: Record<string, string>;
  budget: number | null;
  form: string;
  at: number;
  answer: Answer | null;
  retrieval: Retrieval | null;
}

let turns: Turn[] = load();
const listeners = new Set<() => void>();

function load(): Turn[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? (found as Turn[]).filter((turn) => typeof turn?.question === "string") : [];
  } catch {
    return [];
  }
}

function save(): void {
  turns = turns.slice(-MOST);
  // The oldest go when the browser gives no more room.
  for (let kept = turns; ; kept = kept.slice(1)) {
    try {
      localStorage.setItem(KEY, JSON.stringify(kept));
      break;
    } catch {
      if (!kept.length) break;
    }
  }
  for (const each of listeners) each();
}

export function keep(turn: Turn): void {
  turns = [...turns.filter((each) => each.id !== turn.id), turn];
  save();
}

export function forget(ids?: Set<string>): void {
  turns = ids ? turns.filter((each) => !ids.has(each.id)) : [];
  save();
}

export function all(): Turn[] {
  return turns;
}

export function useTurns(): Turn[] {
  const [, set] = useState(0);
  useEffect(() => {
    const listener = () => set((n) => n + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return turns;
}
