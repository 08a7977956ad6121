/** Places for the names of nodes: beside, below or above their node, inside the view, and none over another. */

export interface Label {
  key: string;
  text: string;
  /** The centre of the node, and its radius. */
  x: number;
  y: number;
  size: number;
}

/** The left end of the baseline. */
export interface Place {
  text: string;
  x: number;
  y: number;
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const GAP = 4;
const ABOVE = 11;
const BELOW = 5;

/**
 * Return a place for each label that has one. Those of larger nodes choose first, where they cover none of the nodes if
 * there is such a place; where other labels leave no room, a label is left out.
 */
export function placeLabels(labels: Label[], width: (text: string) => number, view: Box): Map<string, Place> {
  const places = new Map<string, Place>();
  const taken: Box[] = [];
  for (const label of [...labels].sort((a, b) => b.size - a.size || (a.key < b.key ? -1 : 1))) {
    const free = choices(label, width(label.text)).filter(
      (each) => inside(each.box, view) && !taken.some((other) => overlap(each.box, other)),
    );
    const place = free.find((each) => !labels.some((other) => overlap(each.box, around(other)))) ?? free[0];
    if (!place) continue;
    taken.push(place.box);
    places.set(label.key, { text: label.text, x: place.box.left, y: place.box.top + ABOVE });
  }
  return places;
}

/** The place of the one label that has to be shown: the first inside the view, or else to the right. */
export function placeLabel(label: Label, width: number, view: Box): Place {
  const all = choices(label, width);
  const { box } = all.find((each) => inside(each.box, view)) ?? all[0]!;
  return { text: label.text, x: box.left, y: box.top + ABOVE };
}

function choices({ x, y, size }: Label, width: number): { box: Box }[] {
  const at = (left: number, baseline: number) => ({
    box: { left, right: left + width, top: baseline - ABOVE, bottom: baseline + BELOW },
  });
  return [
    at(x + size + GAP, y + 4),
    at(x - size - GAP - width, y + 4),
    at(x - width / 2, y + size + GAP + ABOVE),
    at(x - width / 2, y - size - GAP - BELOW),
  ];
}

function around({ x, y, size }: Label): Box {
  return { left: x - size, right: x + size, top: y - size, bottom: y + size };
}

function inside(box: Box, view: Box): boolean {
  return box.left >= view.left && box.right <= view.right && box.top >= view.top && box.bottom <= view.bottom;
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
