/** Colours that people with colour-blind eyes can tell apart (Okabe and Ito, 2008, with darker and lighter additions). */

const COLOURS = [
  "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7d6bb3", "#b39b00", "#4f8f8c", "#a05b2c",
]; // prettier-ignore
const OTHER = "#8d9196";

/** Give colours to groups, the largest first; the small rest is grey. */
export function colours(sizes: Map<string, number>): Map<string, string> {
  const largest = [...sizes].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return new Map(largest.map(([group], i) => [group, COLOURS[i] ?? OTHER]));
}

export function colour(n: number): string {
  return COLOURS[n % COLOURS.length] ?? OTHER;
}

export { OTHER };
