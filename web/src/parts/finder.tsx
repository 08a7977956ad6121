/** A field that completes names of entities: arrows choose, Enter takes. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { get, path } from "../lib/api";
import type { EntityHit } from "../lib/types";

interface Props {
  index: string;
  label?: string;
  /** Whether the field takes the focus when it appears; otherwise `/` gives it. */
  focused?: boolean;
  onChoose: (hit: EntityHit) => void;
}

export function Finder({ index, label = "Find an entity", focused = false, onChoose }: Props) {
  const [text, setText] = useState("");
  const [hits, setHits] = useState<EntityHit[]>([]);
  const [at, setAt] = useState(0);
  const [open, setOpen] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  useEffect(() => {
    if (!text.trim()) return setHits([]);
    const stop = new AbortController();
    const timer = setTimeout(() => {
      get<{ entities: EntityHit[] }>(`${path("indexes", index, "entities")}?q=${encodeURIComponent(text)}`, stop.signal).then(
        (found) => {
          setHits(found.entities.slice(0, 12));
          setAt(0);
        },
        () => undefined,
      );
    }, 120);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, index]);
  useEffect(() => {
    if (focused) return field.current?.focus();
    const key = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
      if (event.key === "/" && !typing) {
        event.preventDefault();
        field.current?.focus();
      }
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  const choose = (hit: EntityHit | undefined) => {
    if (!hit) return;
    setOpen(false);
    setText(hit.name);
    onChoose(hit);
  };
  const shown = open && hits.length > 0;
  return (
    <div class="finder">
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-label={label}
        aria-expanded={shown}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={shown ? `${id}-${at}` : undefined}
        placeholder={label}
        autocomplete="off"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setOpen(true);
        }}
        onBlur={() => setTimeout(() => setOpen(false), 150)}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(at + 1, hits.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
          else if (event.key === "Enter") choose(hits[at]);
          else if (event.key === "Escape") setOpen(false);
          else return;
          event.preventDefault();
        }}
      />
      <ul id={id} role="listbox" aria-label="Entities" hidden={!shown}>
        {shown &&
          hits.map((hit, i) => (
            <li
              key={hit.id}
              id={`${id}-${i}`}
              role="option"
              aria-selected={i === at}
              onPointerDown={(event) => {
                event.preventDefault();
                choose(hit);
              }}
            >
              <span>{hit.name}</span>
              <span class="soft">{hit.type}</span>
            </li>
          ))}
      </ul>
    </div>
  );
}
