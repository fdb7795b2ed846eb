import { emptyLayout, type Layout, layOut } from "./layout.ts";
import type { DrawnGraph } from "./model.ts";
import type { LayoutAnswer, LayoutQuestion } from "./worker.ts";

/** The worker's address, which the build fills in. */
declare const SLIPWAY_GRAPH_WORKER: string;

/** Smaller graphs are laid out within a frame; a worker would only add its start. */
const mostInPage = 2000;

interface Asked {
  readonly question: LayoutQuestion;
  readonly done: (layout: Layout) => void;
}

let worker: Worker | undefined;
let number = 0;
let latest: Asked | undefined;

/** Calls `done` with the places, at once for graphs of usual size; only for the last question asked. */
export function findPlaces(graph: DrawnGraph, previous: Layout, done: (layout: Layout) => void): void {
  number += 1;
  latest = undefined;
  if (graph.nodes.length <= mostInPage) return done(layOut(graph, previous));
  latest = { question: { number, graph, previous }, done };
  worker ??= startWorker();
  worker.postMessage(latest.question);
}

function startWorker(): Worker {
  const started = new Worker(SLIPWAY_GRAPH_WORKER, { type: "module" });
  started.addEventListener("message", ({ data }: MessageEvent<LayoutAnswer>) => {
    if (data.number === latest?.question.number) latest.done(data.layout);
  });
  // Slower, but there: the page lays it out itself.
  started.addEventListener("error", () => {
    if (latest !== undefined) latest.done(layOut(latest.question.graph, emptyLayout));
  });
  return started;
}
