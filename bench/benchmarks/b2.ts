import { inWorker } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import type { Benchmark, Measured } from "../harness/types.ts";
import { enginesOf } from "./engines.ts";
import { serverCandidate } from "./workflow-server.ts";

const load = { kind: "one", inFlight: 1, pauseMs: 20 } as const;
const p50 = ({ p50: value = NaN }: Measured): number => value;
const p99 = ({ p99: value = NaN }: Measured): number => value;

/** Latency of one no-op step on an idle server: from the submission until the caller sees the end. */
export const b2 = (environment: Environment): Benchmark => ({
  id: "B2",
  title: "idle server, one no-op step: submit -> the watching caller sees the end",
  candidates: [
    ...enginesOf(environment, { ...load, effects: 1 }),
    serverCandidate(environment, "server", "ours/workflow-server", load),
    inWorker(environment, { name: "log", role: "floor", module: "floors/runs-log", load }),
    inWorker(environment, { name: "library", role: "ours", module: "ours/workflow-library", load }),
    serverCandidate(environment, "host process", "ours/host-server", load),
  ],
  lines: [
    {
      metric: "one step over HTTPS, p50",
      unit: "ms",
      better: "less",
      value: p50,
      ours: "server",
      floor: "log",
      hold: [{ to: "best peer", ratio: 1 }],
      goal: [{ to: "best peer", ratio: 0.5 }],
    },
    {
      metric: "one step over HTTPS, p99",
      unit: "ms",
      better: "less",
      value: p99,
      ours: "server",
      floor: "log",
      goal: [{ to: "best peer", ratio: 1 }],
    },
    { metric: "one step, library, p50", unit: "ms", better: "less", value: p50, ours: "library", floor: "log" },
    { metric: "one host process, p50", unit: "ms", better: "less", value: p50, ours: "host process", peers: [] },
  ],
});
