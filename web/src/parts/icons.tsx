/** Line icons of 16 units; always beside a text or a label. */

const PATHS = {
  close: "M4 4l8 8M12 4l-8 8",
  down: "M4 6l4 4 4-4",
  left: "M10 3L5 8l5 5",
  right: "M6 3l5 5-5 5",
  send: "M3 8h10M9 4l4 4-4 4",
  stop: "M5 5h6v6H5z",
  plus: "M8 3v10M3 8h10",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM11 11l3 3",
  history: "M8 4v4l3 2M2.5 8a5.5 5.5 0 1 0 1.8-4.1M2.5 2v3h3",
  upload: "M8 11V3M4.5 6L8 2.5 11.5 6M3 13.5h10",
  copy: "M5.5 5.5V3h7.5v7.5h-2.5M3 5.5h7.5V13H3z",
  save: "M8 3v7M4.5 7L8 10.500 11.5 7M3 13.5h10",
  graph: "M4 5.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM12 7a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM6 13.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM5.500 4.200l5 1M4.400 5.500l1.200 5M11 6.800l-4 4",
} as const;

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
