import { useEffect, useState } from "preact/hooks";
import { get, sentence } from "./api";

export interface Loaded<T> {
  data: T | null;
  error: string;
  loading: boolean;
  again: () => void;
}

/** Load JSON from an address; the old data stays until the new arrives. No address: nothing to load. */
export function useLoad<T>(address: string | null): Loaded<T> {
  const [state, set] = useState<{ of: string | null; data: T | null; error: string }>({ of: null, data: null, error: "" });
  const [turn, again] = useState(0);
  useEffect(() => {
    if (address === null) return;
    const stop = new AbortController();
    get<T>(address, stop.signal).then(
      (data) => set({ of: address, data, error: "" }),
      (error: unknown) => {
        if (!stop.signal.aborted) set({ of: address, data: null, error: sentence(error) });
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
