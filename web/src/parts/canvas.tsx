/** A graph drawn with WebGL. Positions come from the index; nothing moves but the view. */

import Graph from "graphology";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type Sigma from "sigma";
import { EdgeLineProgram, NodeCircleProgram, NodePointProgram } from "sigma/rendering";
import type { CameraState } from "sigma/types";
import { svgOf, type Drawn } from "../lib/picture";
import { BitmapSigma, LAYERS } from "./bitmap-sigma";

export interface Node {
  id: string;
  label: string;
  x: number;
  y: number;
  size: number;
  color: string;
  /** What the legend filters by. */
  group: string;
}

export interface Picture {
  key: string;
  nodes: Node[];
  /** Edges as numbers of nodes, and their weights in [0, 1]. */
  edges: { source: number; target: number; weight: number }[];
  /** Edges that there are besides. */
  left?: number;
}

export interface Box {
  x: [number, number];
  y: [number, number];
}

export interface View {
  flyTo: (id: string) => boolean;
  /** Show every node; a view that does so already stays. */
  fit: () => void;
  zoom: (factor: number) => void;
  png: (legend: [string, string][]) => Promise<Blob | null>;
  svg: (legend: [string, string][]) => Blob | null;
}

interface Props {
  picture: Picture;
  box: Box | null;
  selected: string[];
  /** Nodes that stand out; the others are faint. */
  shown: Set<string> | null;
  hidden: Set<string>;
  label: string;
  onClick: (id: string | null, more: boolean) => void;
  onDouble: (id: string) => void;
  onRatio: (ratio: number) => void;
  view: { current: View | null };
  /** What stands above and below the graph. */
  tools: ComponentChildren;
  legend: ComponentChildren;
}

const MANY_EDGES = 5_000;
/** Of more nodes than these, a bitmap is moved in place of drawing them for every frame. */
const MANY_NODES = 3_000;

export function GraphCanvas(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  const sigma = useRef<BitmapSigma | null>(null);
  /** Where the keys are moving the view: the next one goes on from there. */
  const aim = useRef<CameraState | null>(null);
  const [failed, setFailed] = useState("");
  const now = useRef(props);
  now.current = props;

  useEffect(() => {
    if (!stage.current) return;
    const ink = () => getComputedStyle(document.documentElement);
    let made: BitmapSigma;
    try {
      made = new BitmapSigma(new Graph(), stage.current, {
        allowInvalidContainer: true,
        defaultEdgeType: "line",
        edgeProgramClasses: { line: EdgeLineProgram },
        nodeProgramClasses: { circle: NodeCircleProgram, point: NodePointProgram },
        labelFont: ink().getPropertyValue("--sans") || "sans-serif",
        labelSize: 13,
        labelWeight: "500",
        labelDensity: 0.5,
        labelGridCellSize: 150,
        labelRenderedSizeThreshold: 5,
        zIndex: true,
        minCameraRatio: 0.002,
        maxCameraRatio: 2,
        ...(still() ? { doubleClickZoomingDuration: 1, inertiaDuration: 1 } : {}),
        stagePadding: 40,
        defaultDrawNodeHover: (context, data, settings) => drawHover(made, context, data as unknown as Hovered, settings),
        nodeReducer: (id, data) => {
          const { selected, shown, hidden } = now.current;
          if (hidden.has(data.group as string)) return { ...data, hidden: true };
          if (selected.includes(id)) return { ...data, highlighted: true, zIndex: 3, forceLabel: true };
          if (!shown) return data;
          if (shown.has(id)) return { ...data, zIndex: 2, forceLabel: shown.size <= 40 };
          return { ...data, color: faint(), label: null, zIndex: 0 };
        },
        edgeReducer: (edge, data) => {
          const { selected, shown } = now.current;
          if (!shown && !selected.length) return data;
          const graph = made.getGraph();
          const [a, b] = graph.extremities(edge);
          const own = selected.includes(a) || selected.includes(b);
          const inside = shown !== null && shown.has(a) && shown.has(b);
          if (own || inside) return { ...data, color: strong(), size: Math.max(1, data.size as number), zIndex: 2 };
          return shown ? { ...data, hidden: graph.size > MANY_EDGES } : data;
        },
      });
    } catch {
      setFailed("This browser cannot draw the graph: it has no WebGL. The lists beside it contain the same.");
      return;
    }
    sigma.current = made;
    const slow: { timer: number } = { timer: 0 };
    made.on("clickNode", ({ node, event }) => now.current.onClick(node, event.original.shiftKey));
    made.on("clickStage", () => now.current.onClick(null, false));
    made.on("doubleClickNode", (event) => {
      event.preventSigmaDefault();
      now.current.onDouble(event.node);
    });
    made.on("enterNode", () => place.current?.classList.add("pointing"));
    made.on("leaveNode", () => place.current?.classList.remove("pointing"));
    made.getCamera().on("updated", ({ ratio }) => {
      clearTimeout(slow.timer);
      slow.timer = window.setTimeout(() => now.current.onRatio(ratio), 120);
    });
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const recolour = () => {
      made.getGraph().updateEachEdgeAttributes((_, data) => ({ ...data, color: lineColor(made.getGraph().size) }));
    };
    scheme.addEventListener("change", recolour);
    props.view.current = {
      flyTo: (id) => {
        const data = made.getNodeDisplayData(id);
        if (!data) return false;
        const ratio = Math.min(made.getCamera().ratio, made.getGraph().order > 500 ? 0.25 : 1);
        void made.getCamera().animate({ x: data.x, y: data.y, ratio }, { duration: still() ? 1 : 350 });
        return true;
      },
      fit: () => {
        const graph = made.getGraph();
        if (!graph.order) return;
        let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
        graph.forEachNode((id) => {
          const data = made.getNodeDisplayData(id);
          if (!data) return;
          left = Math.min(left, data.x);
          right = Math.max(right, data.x);
          bottom = Math.min(bottom, data.y);
          top = Math.max(top, data.y);
        });
        const { width, height } = seen(made);
        const least = Math.min(width, height);
        const ratio = Math.min(2, Math.max(0.003, 1.25 * Math.max((right - left) * (least / width), (top - bottom) * (least / height))));
        const camera = made.getCamera();
        const place = { x: (left + right) / 2, y: (bottom + top) / 2, ratio, angle: 0 };
        const same = Math.abs(camera.x - place.x) + Math.abs(camera.y - place.y) < 0.02 && Math.abs(camera.ratio - ratio) < 0.02;
        if (!same) void camera.animate(place, { duration: still() ? 1 : 300 });
      },
      zoom: (factor) => void made.getCamera().animate({ ratio: made.getCamera().ratio * factor }, { duration: still() ? 1 : 150 }),
      png: (legend) => png(made, legend),
      svg: (legend) => new Blob([svgOf(drawn(made), legend, colorsNow())], { type: "image/svg+xml" }),
    };
    // For measurements: how the picture is drawn is told by the element itself.
    (place.current as HTMLElement & { sigma?: Sigma }).sigma = made;
    return () => {
      clearTimeout(slow.timer);
      scheme.removeEventListener("change", recolour);
      props.view.current = null;
      sigma.current = null;
      made.kill();
    };
  }, []);

  useEffect(() => {
    const made = sigma.current;
    if (!made) return;
    const { nodes, edges } = props.picture;
    const graph = new Graph({ type: "undirected", multi: true, allowSelfLoops: true });
    for (const node of nodes) {
      graph.addNode(node.id, { x: node.x, y: node.y, size: node.size, color: node.color, label: node.label, group: node.group, type: nodes.length > MANY_NODES ? "point" : "circle" });
    }
    const color = lineColor(edges.length);
    const width = nodes.length > 200 ? 0.6 : 1.6;
    for (const edge of edges) {
      const source = nodes[edge.source];
      const target = nodes[edge.target];
      if (source && target) graph.addEdge(source.id, target.id, { size: 0.4 + width * edge.weight, color });
    }
    const many = nodes.length > MANY_NODES;
    made.setSetting("hideEdgesOnMove", !many && edges.length > MANY_EDGES);
    made.setSetting("labelRenderedSizeThreshold", many ? 7 : nodes.length > 300 ? 6 : nodes.length > 40 ? 9 : 0);
    made.setCustomBBox(props.box);
    made.show(graph, many);
    place.current?.setAttribute("data-nodes", String(nodes.length));
  }, [props.picture.key, props.box]);

  useEffect(() => {
    sigma.current?.refresh({ skipIndexation: false });
  }, [props.selected.join("\n"), props.shown, props.hidden]);

  return (
    <div class="canvas-place">
      {props.tools}
      {failed && <p class="problem">{failed}</p>}
      <div
        ref={place}
        class="canvas"
        tabIndex={0}
        role="application"
        aria-label={`${props.label}. Arrow keys move the view, plus and minus zoom; the list beside it contains the same.`}
        onKeyDown={(event) => {
          const camera = sigma.current?.getCamera();
          if (!camera) return;
          const from = aim.current ?? camera.getState();
          const step = 0.12 * from.ratio;
          const moves: Record<string, Partial<CameraState>> = {
            ArrowLeft: { x: from.x - step }, ArrowRight: { x: from.x + step }, ArrowUp: { y: from.y + step }, ArrowDown: { y: from.y - step },
            "+": { ratio: from.ratio / 1.4 }, "=": { ratio: from.ratio / 1.4 }, "-": { ratio: from.ratio * 1.4 },
          }; // prettier-ignore
          const move = moves[event.key];
          if (!move) return;
          const to = { ...from, ...move, ratio: camera.getBoundedRatio(move.ratio ?? from.ratio) };
          aim.current = to;
          void camera.animate(to, { duration: still() ? 1 : 120, easing: "linear" }).then(() => {
            if (aim.current === to) aim.current = null;
          });
          event.preventDefault();
        }}
      >
        <div ref={stage} class="stage" />
      </div>
      {props.legend}
    </div>
  );
}

function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;
/** The more edges, the fainter: many together are dense enough. */
const lineColor = (n: number) => (n > 1500 ? (dark() ? "#262a2f" : "#eceae5") : dark() ? "#3d434b" : "#d3d0c9");
const faint = () => (dark() ? "#33373d" : "#e3e0da");
const strong = () => (dark() ? "#8fa5a3" : "#6f8583");

function colorsNow() {
  return { paper: css("--raised"), ink: css("--ink") };
}

interface Hovered {
  key: string;
  x: number;
  y: number;
  size: number;
  label?: string | null;
}

/** Draw the label of the node under the pointer on a plate in the colours of the page. */
function drawHover(sigma: BitmapSigma, context: CanvasRenderingContext2D, data: Hovered, settings: { labelFont: string; labelSize: number }): void {
  context.font = `500 ${settings.labelSize}px ${settings.labelFont}`;
  const label = data.label ?? "";
  context.beginPath();
  if (label) {
    const width = context.measureText(label).width;
    const { x, y } = sigma.placeOf({ key: data.key, text: label, x: data.x, y: data.y, size: data.size }, width);
    context.fillStyle = css("--raised");
    context.strokeStyle = css("--strong-line");
    context.roundRect(x - 7, y - 16, width + 14, 24, 5);
    context.fill();
    context.stroke();
    context.fillStyle = css("--ink");
    context.fillText(label, x, y);
  }
  context.beginPath();
  context.arc(data.x, data.y, data.size + 2, 0, 2 * Math.PI);
  context.strokeStyle = css("--accent");
  context.lineWidth = 2;
  context.stroke();
}

/** Width and height of what is seen: the margin around it is drawn too. */
function seen(sigma: BitmapSigma): { width: number; height: number } {
  const { width, height } = sigma.getDimensions();
  return { width: width - 2 * sigma.margin, height: height - 2 * sigma.margin };
}

/** What lies within the view, in its pixels. */
function drawn(sigma: BitmapSigma): Drawn {
  const { width, height } = seen(sigma);
  const graph = sigma.getGraph();
  const at = new Map<string, { x: number; y: number }>();
  const nodes: Drawn["nodes"] = [];
  graph.forEachNode((id, attributes) => {
    const data = sigma.getNodeDisplayData(id);
    if (!data || data.hidden) return;
    const { x, y } = sigma.graphToViewport(attributes as { x: number; y: number });
    const point = { x: x - sigma.margin, y: y - sigma.margin };
    at.set(id, point);
    if (point.x < -50 || point.y < -50 || point.x > width + 50 || point.y > height + 50) return;
    nodes.push({ ...point, size: sigma.scaleSize(data.size), color: data.color });
  });
  const edges: Drawn["edges"] = [];
  graph.forEachEdge((edge, _, a, b) => {
    const data = sigma.getEdgeDisplayData(edge);
    const from = at.get(a);
    const to = at.get(b);
    const inside = (p: { x: number; y: number }) => p.x > 0 && p.y > 0 && p.x < width && p.y < height;
    if (data && !data.hidden && from && to && (inside(from) || inside(to))) edges.push({ from, to, color: data.color, size: data.size });
  });
  const labels = [...sigma.labels.values()].map(({ text, x, y }) => ({ text, x: x - sigma.margin, y: y - sigma.margin }));
  return { width, height, nodes, edges, labels };
}

async function png(sigma: BitmapSigma, legend: [string, string][]): Promise<Blob | null> {
  const { width, height } = seen(sigma);
  const ratio = window.devicePixelRatio || 1;
  const colors = colorsNow();
  const out = document.createElement("canvas");
  out.width = width * ratio;
  out.height = height * ratio;
  const context = out.getContext("2d");
  if (!context) return null;
  context.fillStyle = colors.paper;
  context.fillRect(0, 0, out.width, out.height);
  // The layers can be read only in the task that drew them.
  sigma.refresh({ skipIndexation: true, schedule: false });
  const layers = sigma.getCanvases();
  for (const name of LAYERS) {
    const layer = layers[name];
    if (layer) context.drawImage(layer, -sigma.margin * ratio, -sigma.margin * ratio);
  }
  context.scale(ratio, ratio);
  context.font = "13px sans-serif";
  legend.forEach(([text, color], i) => {
    const y = height - 16 - 20 * (legend.length - 1 - i);
    context.fillStyle = color;
    context.beginPath();
    context.arc(18, y, 5, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = colors.ink;
    context.fillText(text, 30, y + 4);
  });
  return new Promise((done) => out.toBlob(done, "image/png"));
}
