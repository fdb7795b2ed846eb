import { inNewWorker } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import type { Benchmark, Line, Measured } from "../harness/types.ts";

const floor = "write batches";

/** Lines of a build as they come to wharf-api. */
export const b9d = (environment: Environment): Benchmark => ({
  id: "B9d",
  title: "lines of 100 bytes into wharf-api's log store, 1,000 at once, every tenth batch durable",
  isCold: true,
  candidates: [
    inNewWorker(environment, { name: floor, role: "floor", module: "floors/brought-lines", load: {} }),
    ...[0, 1, 100].map((followers) =>
      inNewWorker(environment, {
        name: nameOf(followers),
        role: "ours",
        module: "ours/log-store",
        load: { followers },
      }),
    ),
  ],
  lines: [
    { ...lineOf(0, "lines kept"), hold: [{ ratio: 100_000 }], goal: [{ to: floor, ratio: 0.3 }] },
    { ...lineOf(1, "lines kept, one follower"), hold: [{ ratio: 100_000 }] },
    lineOf(100, "lines kept, 100 followers"),
  ],
});

const nameOf = (followers: number): string => `${followers} followers`;

const lineOf = (followers: number, metric: string): Line => ({
  metric,
  unit: "/s",
  better: "more",
  value: ({ ops, ms }: Measured) => (ops * 1000) / ms,
  ours: nameOf(followers),
  floor,
});
