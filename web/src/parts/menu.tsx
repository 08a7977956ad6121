/** A button that opens a small panel. Esc and a click elsewhere close it; the focus returns to the button. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icons";

interface Props {
  label: ComponentChildren;
  /** Name for screen readers, where the label does not say it. */
  name?: string;
  align?: "left" | "right";
  up?: boolean;
  quiet?: boolean;
  children: (close: () => void) => ComponentChildren;
}

export function Menu({ label, name, align = "left", up = false, quiet = false, children }: Props) {
  const [open, set] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const id = useId();
  // It opens where there is more room, and scrolls within it: never below the bar or out of the window.
  useLayoutEffect(() => {
    const frame = panel.current?.offsetParent?.getBoundingClientRect();
    if (!panel.current || !frame) return;
    const bar = document.querySelector(".top")?.getBoundingClientRect().bottom ?? 0;
    const [above, below] = [frame.top - bar, innerHeight - frame.bottom];
    const goesUp = up && above > below;
    panel.current.classList.toggle("up", goesUp);
    panel.current.style.maxHeight = `${Math.min(512, Math.max(160, (goesUp ? above : below) - 14))}px`;
  }, [open]);
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event) => {
      if (!place.current?.contains(event.target as Node)) set(false);
    };
    const key = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      set(false);
      button.current?.focus();
    };
    addEventListener("pointerdown", outside);
    place.current?.addEventListener("keydown", key);
    const inside = place.current;
    return () => {
      removeEventListener("pointerdown", outside);
      inside?.removeEventListener("keydown", key);
    };
  }, [open]);
  const close = () => {
    set(false);
    button.current?.focus();
  };
  return (
    <div class="menu" ref={place}>
      <button
        ref={button}
        type="button"
        class={quiet ? "quiet" : ""}
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        aria-label={name}
        onClick={() => set(!open)}
      >
        {label} <Icon name="down" />
      </button>
      {open && (
        <div ref={panel} id={id} class={`panel ${align}`}>
          {children(close)}
        </div>
      )}
    </div>
  );
}
