import { inWorker } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import { sized } from "../harness/sizes.ts";
import type { EngineLoad } from "../harness/peers.ts";
import type { Benchmark, CandidateSource, Measured } from "../harness/types.ts";
import { chainLength, fanWidth } from "../ours/workflows.ts";
import { enginesOf } from "./engines.ts";
import { serverCandidate } from "./workflow-server.ts";

const rate = ({ ops, ms }: Measured): number => (ops / ms) * 1000;
const stepRate = (window: Measured): number => rate(window) * chainLength;

/** Durable steps per second: chains of ten no-op steps, 200 in flight. */
export const b1 = (environment: Environment): Benchmark => ({
  id: "B1",
  title: "runs of 10 sequential no-op steps, 200 in flight",
  candidates: [
    ...candidatesOf(environment, { kind: "seq", inFlight: sized(200), effects: chainLength }),
    serverCandidate(environment, "server", "ours/workflow-server", { kind: "seq", inFlight: sized(200) }),
  ],
  lines: [
    {
      metric: "steps, library",
      unit: "/s",
      better: "more",
      value: stepRate,
      perOp: chainLength,
      ours: "library",
      floor: "delta log",
      hold: [{ to: "best peer", ratio: 4 }],
      goal: [
        { to: "best peer", ratio: 10 },
        { to: "delta log", ratio: 0.35 },
      ],
    },
    {
      metric: "steps, server over HTTPS",
      unit: "/s",
      better: "more",
      value: stepRate,
      perOp: chainLength,
      ours: "server",
      floor: "delta log",
    },
  ],
});

/** One run at a time: a chain of ten, and a fan-out over a hundred steps. */
export const b1b = (environment: Environment): readonly Benchmark[] => [
  {
    id: "B1b",
    title: "runs of 10 sequential no-op steps, one at a time",
    candidates: candidatesOf(environment, { kind: "seq", inFlight: 1, effects: chainLength }),
    lines: [
      {
        metric: "steps, 1 run in flight, library",
        unit: "/s",
        better: "more",
        value: stepRate,
        perOp: chainLength,
        ours: "library",
        floor: "delta log",
        hold: [{ to: "best peer", ratio: 2 }],
        goal: [{ to: "best peer", ratio: 4 }],
      },
    ],
  },
  {
    id: "B1b",
    title: "fan-out over 100 no-op steps, one at a time",
    candidates: candidatesOf(environment, { kind: "fan", inFlight: 1, effects: fanWidth }),
    lines: [
      {
        metric: "fan-out 1 -> 100 -> join, library",
        unit: "runs/s",
        better: "more",
        value: rate,
        perOp: fanWidth,
        ours: "library",
        floor: "delta log",
        hold: [{ to: "best peer", ratio: 3 }],
        goal: [{ to: "best peer", ratio: 10 }],
      },
      {
        metric: "fan-out, p50, library",
        unit: "ms",
        better: "less",
        value: ({ p50 = NaN }) => p50,
        perOp: fanWidth,
        ours: "library",
        floor: "delta log",
        goal: [{ ratio: 4 }],
      },
    ],
  },
];

function candidatesOf(environment: Environment, load: EngineLoad): readonly CandidateSource[] {
  const worker = (name: string, role: "ours" | "floor", module: string) =>
    inWorker(environment, { name, role, module, load });
  return [
    ...enginesOf(environment, load),
    worker("log", "floor", "floors/runs-log"),
    worker("library", "ours", "ours/workflow-library"),
    worker("object log", "floor", "floors/runs-object"),
    worker("delta log", "floor", "floors/runs-delta"),
  ];
}
