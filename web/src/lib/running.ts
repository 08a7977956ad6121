/** The question that an index is answering. It goes on when its view is left: a look elsewhere loses nothing that is paid. */

import { useEffect, useState } from "preact/hooks";
import type { Citation, Retrieval } from "./types";

export interface Running {
  id: string;
  question: string;
  method: string;
  text: string;
  retrieval: Retrieval | null;
  citations: Citation[];
  error: string;
  stopped: boolean;
  stop: () => void;
}

const running = new Map<string, Running>();
const listeners = new Set<() => void>();

export function isBusy(question: Running | null): question is Running {
  return question !== null && !question.error && !question.stopped;
}

export function setRunning(index: string, question: Running | null): void {
  if (question) running.set(index, question);
  else running.delete(index);
  for (const each of listeners) each();
}

/** Let go of a question that failed or was stopped. */
export function forgetFailed(index: string): void {
  const question = running.get(index) ?? null;
  if (question && !isBusy(question)) setRunning(index, null);
}

export function useRunning(index: string): Running | null {
  const [, set] = useState(0);
  useEffect(() => {
    const listener = () => set((n) => n + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return running.get(index) ?? null;
}
