import { inNewWorker } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import type { Benchmark, Measured } from "../harness/types.ts";

const floor = "split and write";
const perSecond = ({ ops, ms }: Measured): number => (ops * 1000) / ms;

/** What a step on the host prints, into the results of its build. */
export const b9b = (environment: Environment): Benchmark => ({
  id: "B9b",
  title: "log intake of a host step, lines of 100 bytes, with timestamps and index",
  isCold: true,
  candidates: [
    inNewWorker(environment, { name: floor, role: "floor", module: "floors/split-lines", load: {} }),
    inNewWorker(environment, { name: "results", role: "ours", module: "ours/log-intake", load: {} }),
    inNewWorker(environment, { name: "followed", role: "ours", module: "ours/log-intake", load: { followers: 1 } }),
  ],
  lines: [
    {
      metric: "lines of a host step",
      unit: "/s",
      better: "more",
      value: perSecond,
      ours: "results",
      floor,
      hold: [{ to: floor, ratio: 0.3 }],
      goal: [{ to: floor, ratio: 0.6 }],
    },
    {
      metric: "lines of a host step, one follower",
      unit: "/s",
      better: "more",
      value: perSecond,
      ours: "followed",
      floor,
    },
  ],
});
