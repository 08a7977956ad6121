import { useEffect, useRef, useState } from "preact/hooks";
import { get, Gone, onConnection, sentence } from "./api";

export interface Loaded<T> {
  data: T | null;
  error: string;
  loading: boolean;
  again: () => void;
}

/**
 * Load JSON from an address; the old data stays until the new arrives. No address: nothing to load. While the server
 * does not answer, which the page says at its top, this goes on loading.
 */
export function useLoad<T>(address: string | null): Loaded<T> {
  const [state, set] = useState<{ of: string | null; data: T | null; error: string }>({ of: null, data: null, error: "" });
  const [turn, again] = useState(0);
  const lost = useRef(false);
  useEffect(() => onConnection((connection) => {
    if (connection === "ok" && lost.current) again((n) => n + 1);
  }), []);
  useEffect(() => {
    if (address === null) return;
    const stop = new AbortController();
    lost.current = false;
    get<T>(address, stop.signal).then(
      (data) => set({ of: address, data, error: "" }),
      (error: unknown) => {
        if (stop.signal.aborted) return;
        lost.current = error instanceof Gone;
        if (!lost.current) set({ of: address, data: null, error: sentence(error) });
      },
    );
    return () => stop.abort();
  }, [address, turn]);
  const mine = state.of === address;
  return {
    data: address === null ? null : state.data,
    error: mine ? state.error : "",
    loading: address !== null && !mine,
    again: () => again((n) => n + 1),
  };
}
