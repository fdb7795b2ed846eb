import { inWorker } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import type { Benchmark } from "../harness/types.ts";

/** Server-side apply of a large object with many owners. */
export const p10 = (environment: Environment): Benchmark => ({
  id: "P10",
  title: "server-side apply of a 20 KB Deployment with 5 managers",
  candidates: [
    inWorker(environment, { name: "texts", role: "floor", module: "floors/documents", load: {} }),
    inWorker(environment, { name: "client", role: "ours", module: "ours/applies", load: {} }),
  ],
  lines: [
    {
      metric: "CPU per apply",
      unit: "ms",
      better: "less",
      value: ({ cpuUs, ops }) => cpuUs / ops / 1000,
      ours: "client",
      floor: "texts",
      hold: [{ ratio: 3 }],
    },
  ],
});
