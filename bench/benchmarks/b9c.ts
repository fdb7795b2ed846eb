import { withCpu } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import type { Benchmark, CandidateSource, Measured } from "../harness/types.ts";

const floor = "message a line";
const ours = "worker";

/** The log of a build that has ended, as an aggregator or a person reads it from a worker. Server and reader have a core each where there are two. */
export const b9c = (environment: Environment): Benchmark => ({
  id: "B9c",
  title: "replay of a log over gRPC, lines of 100 bytes",
  candidates: [
    served(environment, { name: floor, role: "floor", module: "floors/replay-server" }),
    served(environment, { name: ours, role: "ours", module: "ours/replay-server" }),
  ],
  lines: [
    {
      metric: "messages/s, one reader",
      unit: "/s",
      better: "more",
      value: ({ ops, ms }: Measured) => (ops * 1000) / ms,
      ours,
      floor,
      hold: [{ to: floor, ratio: 8 }, { ratio: 100_000 }],
      goal: [{ to: floor, ratio: 15 }],
    },
  ],
});

/** CPU is the server's. */
const served = (
  environment: Environment,
  { module, ...source }: Omit<CandidateSource, "start"> & { readonly module: string },
): CandidateSource => ({
  ...source,
  async start() {
    const own = environment.worker(module, { isOurs: source.role === "ours" });
    const load = environment.worker("load/log-replay");
    const { port } = await own.call<{ readonly port: number }>("start", { dir: await environment.directory() });
    return {
      measure: (ms) => withCpu([own.pid], () => load.call<Measured>("replay", { port, ms })),
      close: async () => void (await Promise.all([load.close(), own.close()])),
    };
  },
});
