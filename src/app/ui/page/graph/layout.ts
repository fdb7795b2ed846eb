import { collect, type DrawnGraph, type GraphEdge, type GraphNode } from "./model.ts";

// A layered drawing from left to right: a node's column is its rank. Within a column nodes are ordered by what they are
// connected to, and pulled to the middle of their neighbours as far as their order lets them.

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Upper left corners. */
export interface Layout {
  readonly places: ReadonlyMap<string, Point>;
  readonly width: number;
  readonly height: number;
}

export const node = { width: 196, height: 40 } as const;
export const gap = { x: 64, y: 14 } as const;
const step = node.height + gap.y;
const columnStep = node.width + gap.x;

const sweeps = 6;

export const emptyLayout: Layout = { places: new Map(), width: 0, height: 0 };

interface Column {
  readonly ids: string[];
  /** Of each id, in the same order. */
  ys: number[];
}

interface Neighbours {
  readonly before: ReadonlyMap<string, readonly string[]>;
  readonly after: ReadonlyMap<string, readonly string[]>;
}

function neighboursOf(edges: readonly GraphEdge[]): Neighbours {
  const [before, after] = [new Map<string, string[]>(), new Map<string, string[]>()];
  for (const { from, to } of edges) {
    collect(before, to, from);
    collect(after, from, to);
  }
  return { before, after };
}

/**
 * Places every node; none overlaps another. Nodes of `previous` that keep their rank keep their place, unless most of
 * the graph is new. O(sweeps * (V log V + E)).
 */
export function layOut(graph: DrawnGraph, previous: Layout = emptyLayout): Layout {
  const kept = graph.nodes.filter(({ id, rank }) => previous.places.get(id)?.x === rank * columnStep);
  const added = graph.nodes.length - kept.length;
  const places =
    kept.length > 0 && added <= Math.max(kept.length, 20)
      ? extend(graph, previous, new Set(kept.map(({ id }) => id)))
      : arrange(graph);
  return measured(places);
}

function measured(places: ReadonlyMap<string, Point>): Layout {
  let [width, height] = [0, 0];
  for (const { x, y } of places.values()) {
    width = Math.max(width, x + node.width);
    height = Math.max(height, y + node.height);
  }
  return { places, width, height };
}

function columnsOf(nodes: readonly GraphNode[]): readonly Column[] {
  const columns: Column[] = [];
  for (const { id, rank } of nodes) {
    while (columns.length <= rank) columns.push({ ids: [], ys: [] });
    columns[rank]?.ids.push(id);
  }
  for (const column of columns) column.ys = column.ids.map((_, index) => index * step);
  return columns;
}

function arrange(graph: DrawnGraph): ReadonlyMap<string, Point> {
  const columns = columnsOf(graph.nodes);
  const { before, after } = neighboursOf(graph.edges);
  const ys = new Map<string, number>();
  for (const column of columns) note(column, ys);
  for (let sweep = 0; sweep < sweeps; sweep += 1) {
    const isForward = sweep % 2 === 0;
    const order = isForward ? columns : columns.toReversed();
    // The last sweeps only straighten: the order stays.
    const mayReorder = sweep < sweeps - 2;
    for (const column of order) settle(column, isForward ? before : after, ys, mayReorder);
  }
  const top = lowest(ys);
  const places = new Map<string, Point>();
  for (const [rank, { ids }] of columns.entries())
    for (const id of ids) places.set(id, { x: rank * columnStep, y: Math.round((ys.get(id) ?? 0) - top) });
  return places;
}

function lowest(ys: ReadonlyMap<string, number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const y of ys.values()) least = Math.min(least, y);
  return least;
}

function note({ ids, ys: own }: Column, ys: Map<string, number>): void {
  for (const [index, id] of ids.entries()) ys.set(id, own[index] ?? 0);
}

/** Orders one column by the middle of each node's neighbours, and moves it there. */
function settle(
  column: Column,
  neighbours: ReadonlyMap<string, readonly string[]>,
  ys: Map<string, number>,
  mayReorder: boolean,
): void {
  const wanted = column.ids.map((id, index) => {
    const others = neighbours.get(id) ?? [];
    const sum = others.reduce((total, other) => total + (ys.get(other) ?? 0), 0);
    return { id, index, y: others.length === 0 ? (ys.get(id) ?? 0) : sum / others.length };
  });
  if (mayReorder) wanted.sort((a, b) => a.y - b.y || a.index - b.index);
  const spread = spreadOut(wanted.map(({ y }) => y));
  for (const [index, { id }] of wanted.entries()) {
    column.ids[index] = id;
    column.ys[index] = spread[index] ?? 0;
  }
  note(column, ys);
}

/** The nearest positions, by least squares, that keep the order and a step between neighbours. O(n). */
export function spreadOut(wanted: readonly number[]): readonly number[] {
  const blocks: { sum: number; count: number }[] = [];
  for (const [index, y] of wanted.entries()) {
    let block = { sum: y - index * step, count: 1 };
    for (
      let last = blocks.at(-1);
      last !== undefined && last.sum / last.count > block.sum / block.count;
      last = blocks.at(-1)
    ) {
      block = { sum: block.sum + last.sum, count: block.count + last.count };
      blocks.pop();
    }
    blocks.push(block);
  }
  return blocks
    .flatMap(({ sum, count }) => Array.from({ length: count }, () => sum / count))
    .map((y, index) => y + index * step);
}

/** New nodes go to the free place that is nearest to what they follow. */
function extend(graph: DrawnGraph, previous: Layout, kept: ReadonlySet<string>): ReadonlyMap<string, Point> {
  const places = new Map<string, Point>();
  const taken = new Map<number, number[]>();
  for (const { id, rank } of graph.nodes) {
    const place = kept.has(id) ? previous.places.get(id) : undefined;
    if (place === undefined) continue;
    places.set(id, place);
    collect(taken, rank, place.y);
  }
  for (const ys of taken.values()) ys.sort((a, b) => a - b);
  const { before } = neighboursOf(graph.edges);
  for (const { id, rank } of graph.nodes) {
    if (places.has(id)) continue;
    const ys = taken.get(rank) ?? [];
    const others = (before.get(id) ?? []).flatMap((other) => places.get(other)?.y ?? []);
    const wanted = others.length === 0 ? (ys.at(-1) ?? 0) : others.reduce((sum, y) => sum + y, 0) / others.length;
    const y = Math.max(0, Math.round(freeNear(ys, wanted)));
    places.set(id, { x: rank * columnStep, y });
    ys.splice(insertionOf(ys, y), 0, y);
    taken.set(rank, ys);
  }
  return places;
}

function insertionOf(sorted: readonly number[], y: number): number {
  const found = sorted.findIndex((one) => one > y);
  return found < 0 ? sorted.length : found;
}

/** The place nearest to `wanted`, not above 0, that keeps a step from all of the sorted places. */
function freeNear(sorted: readonly number[], wanted: number): number {
  let best = Number.POSITIVE_INFINITY;
  const gaps = [Number.NEGATIVE_INFINITY, ...sorted, Number.POSITIVE_INFINITY];
  for (let index = 0; index + 1 < gaps.length; index += 1) {
    const from = Math.max(0, (gaps[index] ?? 0) + step);
    const to = (gaps[index + 1] ?? 0) - step;
    if (from > to) continue;
    const y = Math.min(to, Math.max(from, Math.round(wanted)));
    if (Math.abs(y - wanted) < Math.abs(best - wanted)) best = y;
  }
  return best;
}

/** A curve from the right side of one box to the left side of another. */
export function edgeCurve(from: Point, to: Point): string {
  const [x1, y1] = [from.x + node.width, from.y + node.height / 2];
  const [x2, y2] = [to.x, to.y + node.height / 2];
  const bend = gap.x * 0.6;
  return y1 === y2 ? `M${x1} ${y1}H${x2}` : `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}
