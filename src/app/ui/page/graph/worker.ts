import { type Layout, layOut } from "./layout.ts";
import type { DrawnGraph } from "./model.ts";

/** What the page asks of the worker; the answer carries the same number. */
export interface LayoutQuestion {
  readonly number: number;
  readonly graph: DrawnGraph;
  readonly previous: Layout;
}

export interface LayoutAnswer {
  readonly number: number;
  readonly layout: Layout;
}

addEventListener("message", ({ data }: MessageEvent<LayoutQuestion>) => {
  const answer: LayoutAnswer = { number: data.number, layout: layOut(data.graph, data.previous) };
  postMessage(answer);
});
