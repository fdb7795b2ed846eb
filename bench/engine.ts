import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  advance,
  buildGraph,
  buildPlan,
  chain,
  createRunCache,
  type Fact,
  frontierOf,
  type Graph,
  type NodeSpec,
  newRun,
  type Plan,
  type RunState,
  settle,
} from "../src/engine/index.ts";
import { sequence } from "./floors/load.ts";
import { sized } from "./harness/sizes.ts";

// Costs of the pure engine, single core: no I/O, no clock inside. Every round checks the run it produced.

/** One figure: the rounds' least, middle and greatest, and the limit it should stay below, in `unit`. */
export interface CostRow {
  readonly metric: string;
  readonly unit: "ms" | "us" | "bytes";
  readonly min: number;
  readonly median: number;
  readonly max: number;
  readonly goal?: number;
}

/** `count` nodes with about `edges` edges, always from an earlier to a later node; the same list every time. */
function randomNodes(count: number, edges: number): NodeSpec[] {
  const next = sequence(count - 1);
  const other = sequence(1_000_003, 7);
  const before: string[][] = Array.from({ length: count }, () => []);
  for (let edge = 0; edge < edges; edge++) {
    const to = 1 + next();
    before[to]?.push(`step-${other() % to}`);
  }
  return before.map((dependsOn, at) => ({ id: `step-${at}`, dependsOn }));
}

const fan = (width: number): NodeSpec[] => {
  const middle = Array.from({ length: width }, (_, at) => `middle-${at}`);
  return [
    { id: "first", dependsOn: [] },
    ...middle.map((id) => ({ id, dependsOn: ["first"] })),
    { id: "last", dependsOn: middle },
  ];
};

function planOf(nodes: readonly NodeSpec[]): Plan {
  const plan = buildPlan(nodes, []);
  if (!plan.ok) throw new Error("the benchmark's own graph is sound");
  return plan.value;
}

function graphOf(nodes: readonly NodeSpec[]): Graph {
  const graph = buildGraph(nodes);
  if (!graph.ok) throw new Error("the benchmark's own graph is sound");
  return graph.value;
}

/** Runs `round` until it is warm, then `rounds` times, and sorts what it returned. */
function measure(metric: string, unit: CostRow["unit"], rounds: number, round: () => number, goal?: number): CostRow {
  for (let warm = 0; warm < sized(Math.max(10, rounds)); warm++) round();
  const seen = Array.from({ length: sized(rounds) }, round).sort((a, b) => a - b);
  const at = (share: number) => seen[Math.floor((seen.length - 1) * share)] ?? 0;
  return { metric, unit, min: at(0), median: at(0.5), max: at(1), ...(goal === undefined ? {} : { goal }) };
}

function timed(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** Microseconds per completion when every node of a graph settles through one frontier. */
function settleAll(graph: Graph): number {
  const frontier = frontierOf(graph, () => false);
  const ms = timed(() => {
    for (const node of graph.order) settle(frontier, graph, node);
  });
  if (frontier.unsettled.some((count) => count !== 0)) throw new Error("a node was not released");
  return (ms * 1_000) / graph.ids.length;
}

/**
 * Plays a whole run and returns the microseconds of `advance` per call. Each call brings `batch` facts; with `seen` every
 * child is seen alive before it succeeds, so a step takes two of them.
 */
function playRun(plan: Plan, { cached = true, batch = 1, seen = true, calls: most = 1_000_000 }): number {
  const cache = cached ? createRunCache() : undefined;
  let ms = 0;
  let calls = 0;
  let run = newRun;
  let facts: readonly Fact[] = [];
  const queue: Fact[] = [];
  const known = new Set<string>();
  do {
    const start = performance.now();
    const result = advance(plan, run, facts, calls, cache);
    ms += performance.now() - start;
    calls++;
    run = result.run;
    for (const { step } of result.effects) {
      if (known.has(step)) continue;
      known.add(step);
      if (seen) queue.push({ kind: "child", step, attempt: 1, state: { is: "alive" } });
      queue.push({ kind: "child", step, attempt: 1, state: { is: "succeeded" } });
    }
    facts = queue.splice(0, batch);
  } while (facts.length > 0 && calls < most);
  if (facts.length === 0 && run.phase !== "Succeeded") throw new Error(`the run is ${run.phase}`);
  return (ms * 1_000) / calls;
}

/** A run of `plan` in which the first half of the nodes, in topological order, has succeeded. */
function halfDone(plan: Plan): RunState {
  const cache = createRunCache();
  const half = [...plan.graph.order].slice(0, plan.steps.length / 2).map((node) => plan.graph.ids[node] ?? "");
  let { run } = advance(plan, newRun, [], 0, cache);
  for (let left = half; left.length > 0; ) {
    const ready = left.filter((step) => run.steps[step]?.phase === "Starting");
    const facts = ready.map((step): Fact => ({ kind: "child", step, attempt: 1, state: { is: "succeeded" } }));
    run = advance(plan, run, facts, 0, cache).run;
    left = left.filter((step) => run.steps[step]?.phase !== "Succeeded");
  }
  return run;
}

/** One completion in a half-finished run of ten thousand steps, with nothing remembered: milliseconds. */
function fromScratch(plan: Plan, run: RunState): number {
  const step = Object.keys(run.steps).find((id) => run.steps[id]?.phase === "Starting") ?? "";
  const fact: Fact = { kind: "child", step, attempt: 1, state: { is: "succeeded" } };
  let next = run;
  const ms = timed(() => {
    next = advance(plan, run, [fact], 1).run;
  });
  if (next.steps[step]?.phase !== "Succeeded") throw new Error("the completion was lost");
  return ms;
}

/** Bytes per node that `make` leaves behind, ids and specs not counted. */
function bytesPer(count: number, make: () => unknown): number {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  const used = () => {
    if (typeof collect === "function") collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = used();
  const kept = make();
  const bytes = used() - before;
  if (kept === undefined) throw new Error("nothing was made");
  return bytes / count;
}

/** Measures everything; takes about ten seconds. */
export async function engineCosts(): Promise<readonly CostRow[]> {
  const nodes = randomNodes(10_000, 30_000);
  const big = planOf(nodes);
  const half = halfDone(big);
  const tens = planOf(chain(Array.from({ length: 10 }, (_, at) => `step-${at}`)));
  const rows = [
    measure("build a graph of 10,000 nodes, 30,000 edges", "ms", 15, () => timed(() => graphOf(nodes)), 20),
    measure("settle one node of it through the frontier", "us", 15, () => settleAll(big.graph), 50),
    measure("advance by one completion in it, from scratch", "ms", 15, () => fromScratch(big, half), 5),
    measure("advance in it, cached, one fact per call", "us", 3, () => playRun(big, { calls: 400, seen: false })),
    measure(
      "advance in it, cached, 100 facts per call, per fact",
      "us",
      3,
      () => playRun(big, { batch: 100, seen: false }) / 100,
      50,
    ),
    measure("advance a chain of 10, cached, per call", "us", 500, () => playRun(tens, {}), 5),
    measure("advance a chain of 10, from scratch, per call", "us", 500, () => playRun(tens, { cached: false })),
    measure("advance 30 steps, 60 edges, cached, per call", "us", 200, () => playRun(planOf30, {})),
    measure("advance 1 -> 100 -> 1, cached, per call", "us", 50, () => playRun(planOf100, {})),
    measure("advance 1,000 steps, 2,500 edges, cached, per call", "us", 5, () => playRun(planOf1000, {})),
    measure(
      "advance 1,000 steps, cached, 20 facts per call, per fact",
      "us",
      5,
      () => playRun(planOf1000, { batch: 20 }) / 20,
    ),
    measure("memory of the graph, per node", "bytes", 3, () => bytesPer(10_000, () => graphOf(nodes)), 200),
  ];
  return rows;
}

const planOf30 = planOf(randomNodes(30, 60));
const planOf100 = planOf(fan(100));
const planOf1000 = planOf(randomNodes(1_000, 2_500));

function format({ metric, unit, min, median, max, goal }: CostRow): string {
  const figures = [min, median, max].map((figure) => figure.toFixed(unit === "bytes" ? 0 : 2).padStart(9)).join("");
  const verdict = goal === undefined ? "" : `  ${median <= goal ? "ok  " : "OVER"} <= ${goal}`;
  return `${metric.padEnd(60)}${figures} ${unit.padEnd(5)}${verdict}`;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  console.log(`${"".padEnd(60)}${["min", "median", "max"].map((head) => head.padStart(9)).join("")}`);
  for (const row of await engineCosts()) console.log(format(row));
}
