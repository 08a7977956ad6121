/**
 * Sigma for graphs that take long to draw: while the view moves, a bitmap of the last picture moves, and the graph is
 * drawn again when the view rests. Without a graphics card, 67,000 nodes take 150 ms; one bitmap takes 20 ms.
 */

import type Graph from "graphology";
import Sigma from "sigma";
import type { CameraState } from "sigma/types";
import { placeLabel, placeLabels, type Label, type Place } from "./labels";

/** What is drawn, from back to front. */
export const LAYERS = ["edges", "nodes", "labels", "hovers", "hoverNodes"];
/** Pixels around the view that are drawn with it, so that little of what comes into view is missing. */
const MARGIN = 200;
/** Without movement for so long, the view rests. */
const REST_MS = 100;
/** While the view moves, the graph is drawn again at most this often, and only if the bitmap has left it. */
const LEAST_MS = 1000;
/** Zoomed in further than this, the bitmap is a blur. */
const MOST_SCALE = 4;

type Listener = (event: unknown) => void;

/** The captors of sigma, whose types know one kind of event at a time. */
interface Emitter {
  listeners(kind: string): Listener[];
  removeAllListeners(kind: string): void;
  on(kind: string, listener: Listener): void;
  prependListener(kind: string, listener: Listener): void;
}

interface Bitmap {
  canvas: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  /** The camera that it was drawn with. */
  camera: CameraState | null;
}

export class BitmapSigma extends Sigma {
  /** Pixels around the view; 0 while every frame is drawn. */
  margin = 0;
  private readonly padding = this.getStagePadding();
  /** The last picture. */
  private readonly near = this.bitmap("near");
  /** The picture of the same graph that showed most of it, without labels: what is seen where the last one ends. */
  private readonly far = this.bitmap("far");
  private timer = 0;
  private drawnAt = 0;

  /** Where the names of nodes are written, by node. */
  labels = new Map<string, Place>();
  private readonly writeLabels: () => void;

  constructor(...[graph, container, settings]: ConstructorParameters<typeof Sigma>) {
    // Sigma writes each name to the right of its node, over other names and past the edge; here they are only collected.
    const wanted: Label[] = [];
    let written = false;
    const defaultDrawNodeLabel = (_: unknown, data: { [key: string]: unknown }) => {
      if (data.label) wanted.push({ key: String(data.key), text: String(data.label), x: Number(data.x), y: Number(data.y), size: Number(data.size) });
    };
    super(graph, container, { ...settings, defaultDrawNodeLabel: defaultDrawNodeLabel as never });
    // Once in each picture: before the node under the pointer is drawn over its name, or else at the end.
    this.writeLabels = () => {
      if (!written) this.write(wanted);
      written = true;
    };
    this.on("beforeRender", () => {
      wanted.length = 0;
      written = false;
    });
    this.on("afterRender", () => {
      this.writeLabels();
      this.keep();
    });
    // The window is not all that changes the size of the view: so does a document that opens beside it.
    const sizes = new ResizeObserver(() => this.scheduleRefresh());
    sizes.observe(container);
    this.on("kill", () => sizes.disconnect());
    this.on("kill", () => clearTimeout(this.timer));
    this.listen(this.getMouseCaptor() as unknown as Emitter, "mousemove", ["click", "doubleClick", "rightClick"]);
    this.listen(this.getTouchCaptor() as unknown as Emitter, "touchmove", ["tap", "doubletap"]);
  }

  /** Whether a bitmap is shown in place of the layers. */
  get moving(): boolean {
    return this.getContainer().classList.contains("moving");
  }

  /** Show another graph; with `many` nodes, as a bitmap while the view moves. */
  show(graph: Graph, many: boolean): void {
    this.margin = many ? MARGIN : 0;
    this.getContainer().style.inset = `${-this.margin}px`;
    this.setSetting("stagePadding", this.padding + this.margin);
    this.far.camera = null;
    this.setGraph(graph);
  }

  /** The camera has moved, or something else asks for a picture. */
  override scheduleRender(): this {
    const drawn = this.near?.camera;
    const camera = this.getCamera().getState();
    if (!drawn || (!this.moving && same(camera, drawn))) return super.scheduleRender();
    clearTimeout(this.timer);
    if (this.move(drawn, camera) && performance.now() - this.drawnAt > LEAST_MS) return super.scheduleRender();
    this.timer = window.setTimeout(() => super.scheduleRender(), REST_MS);
    return this;
  }

  /** Draw the graph now if the view has moved since it was drawn. */
  rest(): void {
    if (this.moving) this.refresh({ partialGraph: {}, skipIndexation: true });
  }

  /** Put the bitmaps where their parts of the graph are; return whether little of the last picture is left. */
  private move(drawn: CameraState, camera: CameraState): boolean {
    const { width, height } = this.getDimensions();
    const { x, y, scale } = this.place(this.near, drawn, camera);
    const [right, bottom] = [x + scale * width, y + scale * height];
    const covers = camera.angle === drawn.angle && x <= this.margin && y <= this.margin && right >= width - this.margin && bottom >= height - this.margin;
    // Each layer takes time on a machine without a graphics card.
    this.far.canvas.hidden = covers || !this.far.camera;
    if (!covers && this.far.camera) this.place(this.far, this.far.camera, camera);
    this.getContainer().classList.add("moving");
    return scale > MOST_SCALE || x > width / 2 || y > height / 2 || right < width / 2 || bottom < height / 2;
  }

  private place({ canvas }: Bitmap, drawn: CameraState, camera: CameraState): { x: number; y: number; scale: number } {
    const { width } = this.getDimensions();
    const [from, to] = [0, width].map((x) => this.framedGraphToViewport(this.viewportToFramedGraph({ x, y: 0 }, { cameraState: drawn }), { cameraState: camera }));
    if (!from || !to) return { x: 0, y: 0, scale: 1 };
    const [a, b] = [(to.x - from.x) / width, (to.y - from.y) / width];
    const scale = Math.hypot(a, b);
    const pixels = window.devicePixelRatio || 1;
    // A bitmap that is not scaled stays sharp on whole pixels.
    const whole = (value: number) => (Math.abs(scale - 1) < 1e-6 ? Math.round(value * pixels) / pixels : value);
    const place = { x: whole(from.x), y: whole(from.y), scale };
    canvas.style.transform = `matrix(${a}, ${b}, ${-b}, ${a}, ${place.x}, ${place.y})`;
    return place;
  }

  /** The place of a node's name: where it is written already, or where there is room for it. */
  placeOf(label: Label, width: number): Place {
    this.writeLabels();
    return this.labels.get(label.key) ?? placeLabel(label, width, this.seen());
  }

  private seen(): { left: number; top: number; right: number; bottom: number } {
    const { width, height } = this.getDimensions();
    return { left: 0, top: 0, right: width, bottom: height };
  }

  /** Write names in the colours of the page, with an edge around the letters that keeps them readable over nodes. */
  private write(wanted: Label[]): void {
    const context = this.getCanvases().labels?.getContext("2d");
    if (!context) return;
    const { labelFont, labelSize, labelWeight } = this.getSettings();
    const style = getComputedStyle(document.documentElement);
    context.font = `${labelWeight} ${labelSize}px ${labelFont}`;
    this.labels = placeLabels(wanted, (text) => context.measureText(text).width, this.seen());
    context.strokeStyle = style.getPropertyValue("--raised").trim();
    context.fillStyle = style.getPropertyValue("--ink").trim();
    context.lineWidth = 3;
    context.lineJoin = "round";
    for (const { text, x, y } of this.labels.values()) {
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
    }
  }

  /** Keep the picture that was drawn just now: its layers can be read only in the task that drew them. */
  private keep(): void {
    clearTimeout(this.timer);
    this.near.camera = null;
    if (this.margin) {
      const camera = this.getCamera().getState();
      this.copy(this.near, LAYERS, camera);
      if (!this.far.camera || camera.ratio >= this.far.camera.ratio) this.copy(this.far, ["edges", "nodes"], camera);
      this.drawnAt = performance.now();
    }
    this.getContainer().classList.remove("moving");
  }

  private copy(bitmap: Bitmap, names: string[], camera: CameraState): void {
    const layers = this.getCanvases();
    const { canvas, context } = bitmap;
    const { width, height } = layers.nodes ?? canvas;
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--raised").trim();
    context.fillRect(0, 0, width, height);
    for (const name of names) {
      const layer = layers[name];
      if (layer) context.drawImage(layer, 0, 0);
    }
    bitmap.camera = camera;
  }

  /** Nodes are found by their place in the last picture, which must be that of the view. */
  private listen(captor: Emitter, move: string, choices: string[]): void {
    for (const kind of choices) captor.prependListener(kind, () => this.rest());
    const hovers = captor.listeners(move);
    captor.removeAllListeners(move);
    captor.on(move, (event) => {
      if (!this.moving) for (const hover of hovers) hover(event);
    });
  }

  private bitmap(name: string): Bitmap {
    const canvas = this.createCanvas(name, { beforeLayer: "edges" });
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser cannot draw");
    return { canvas, context, camera: null };
  }
}

function same(a: CameraState, b: CameraState): boolean {
  return a.x === b.x && a.y === b.y && a.ratio === b.ratio && a.angle === b.angle;
}
