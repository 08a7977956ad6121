/** A drawn graph as SVG. */

export interface Drawn {
  width: number;
  height: number;
  nodes: { x: number; y: number; size: number; color: string }[];
  edges: { from: { x: number; y: number }; to: { x: number; y: number }; color: string; size: number }[];
  /** Names, by the left end of their baselines. */
  labels: { text: string; x: number; y: number }[];
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "");
}

const f = (n: number) => n.toFixed(1);

export function svgOf(drawn: Drawn, legend: [string, string][], colors: { paper: string; ink: string }): string {
  const { width, height } = drawn;
  const lines = drawn.edges.map(
    (e) => `<line x1="${f(e.from.x)}" y1="${f(e.from.y)}" x2="${f(e.to.x)}" y2="${f(e.to.y)}" stroke="${escape(e.color)}" stroke-width="${f(e.size)}"/>`,
  );
  const circles = drawn.nodes.map((n) => `<circle cx="${f(n.x)}" cy="${f(n.y)}" r="${f(n.size)}" fill="${escape(n.color)}"/>`);
  const labels = drawn.labels.map(({ text, x, y }) => `<text x="${f(x)}" y="${f(y)}">${escape(text)}</text>`);
  const keys = legend.map(([text, color], i) => {
    const y = height - 16 - 20 * (legend.length - 1 - i);
    return `<circle cx="18" cy="${y}" r="5" stroke="none" fill="${escape(color)}"/><text x="30" y="${y + 4}">${escape(text)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<rect width="100%" height="100%" fill="${escape(colors.paper)}"/>`,
    ...lines,
    ...circles,
    `<g font-family="sans-serif" font-size="13" fill="${escape(colors.ink)}" stroke="${escape(colors.paper)}" stroke-width="3" stroke-linejoin="round" paint-order="stroke">`,
    ...labels,
    ...keys,
    "</g></svg>\n",
  ].join("\n");
}
