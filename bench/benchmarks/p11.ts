import { join } from "node:path";
import { inNewWorker } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import type { Benchmark, Measured } from "../harness/types.ts";
import { sized } from "../harness/sizes.ts";

const jobs = sized(1000);
const seconds = ({ ms }: Measured): number => ms / 1000;

/** Many Jobs at once, whose Pods do nothing or are host processes. */
export function p11(environment: Environment): Benchmark {
  const runnerPath = join(environment.home, "..", "dist", "runner.cjs");
  const jobsOf = (name: string, isNoop: boolean) =>
    inNewWorker(environment, { name, role: "ours", module: "ours/jobs", load: { jobs, isNoop, runnerPath } });
  return {
    id: "P11",
    title: "1,000 Jobs at once until all are complete",
    isCold: true,
    candidates: [
      jobsOf("no-op", true),
      inNewWorker(environment, { name: "spawns", role: "floor", module: "floors/spawns", load: { jobs } }),
      jobsOf("host", false),
    ],
    lines: [
      {
        metric: "1,000 Jobs, no-op runtime",
        unit: "s",
        better: "less",
        value: seconds,
        ours: "no-op",
        hold: [{ ratio: 60 }],
      },
      {
        metric: "1,000 Jobs, host processes",
        unit: "s",
        better: "less",
        value: seconds,
        ours: "host",
        floor: "spawns",
      },
    ],
  };
}
