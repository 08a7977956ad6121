/**
 * Colours that people with colour-blind eyes can tell apart (Okabe and Ito, 2008, with additions), some made darker so
 * that each has a contrast of 3 to 1 on the light and on the dark page.
 */

const COLOURS = [
  "#0072b2", "#c08400", "#009e73", "#c8699d", "#2f93cf", "#d55e00", "#7d6bb3", "#7c7f00", "#4f8f8c", "#a05b2c",
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
