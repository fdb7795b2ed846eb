import { rm } from "node:fs/promises";
import { join } from "node:path";
import { inNewWorker, withCpu } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import type { Benchmark, CandidateSource, Measured } from "../harness/types.ts";
import { sized } from "../harness/sizes.ts";

const maxParallel = 8;
const perSecond = ({ ops, ms }: Measured): number => (ops * 1000) / ms;

/** Windows of ten seconds (`--ms 10000`) are about the largest fan-out there is, which takes minutes; others about a fifth of it. */
const itemsOf = (ms: number): number => (ms >= 10_000 ? 10_000 : sized(2_000));

/** One step with thousands of items, each a host process, beside bare processes. */
export function fanOut(environment: Environment): Benchmark {
  const load = { jobs: sized(2_000), atOnce: maxParallel };
  return {
    id: "W1",
    title: `one step, thousands of items, ${maxParallel} at once, each a host process`,
    isCold: true,
    candidates: [
      inNewWorker(environment, { name: "spawns", role: "floor", module: "floors/spawns", load }),
      candidate(environment),
    ],
    lines: [
      { metric: "items of a fan-out", unit: "/s", better: "more", value: perSecond, ours: "server", floor: "spawns" },
      {
        metric: "GET of a small object meanwhile, p99",
        unit: "ms",
        better: "less",
        value: ({ p99 = NaN }) => p99,
        ours: "server",
        hold: [{ ratio: 50 }],
      },
      {
        metric: "largest size of the object",
        unit: "KiB",
        better: "less",
        value: ({ rssBytes = NaN }) => rssBytes / 1024,
        ours: "server",
        hold: [{ ratio: 100 }],
      },
    ],
  };
}

/** The server in one process, who watches and reads in another. */
function candidate(environment: Environment): CandidateSource {
  const runnerPath = join(environment.home, "..", "dist", "runner.cjs");
  return {
    name: "server",
    role: "ours",
    async start() {
      const measure = async (ms: number): Promise<Measured> => {
        const dir = await environment.directory();
        const server = environment.worker("ours/host-server", { isOurs: true });
        const caller = environment.worker("load/http-fan-out");
        try {
          const endpoint = await server.call<object>("start", { dir, runnerPath });
          const load = { ...endpoint, items: itemsOf(ms), maxParallel };
          const run = () => caller.call<Measured>("run", load);
          const window = await withCpu([server.pid], run);
          await server.call("stop");
          return window;
        } finally {
          await caller.close();
          await server.close();
          await rm(dir, { recursive: true, force: true });
        }
      };
      return { measure, close: () => Promise.resolve() };
    },
  };
}
