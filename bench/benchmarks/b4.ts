import { withCpu } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import { treeRssBytes } from "../harness/memory.ts";
import type { Benchmark, Candidate, CandidateSource, Measured, Role } from "../harness/types.ts";
import { itemsPath } from "../ours/items.ts";

const bytes = 2048;
const perSecond = ({ ops, ms }: Measured): number => (ops / ms) * 1000;
const idleMegabytes = ({ rssBytes = NaN }: Measured): number => rssBytes / 1e6;

interface Endpoint {
  readonly port: number;
  readonly token: string;
  readonly ca: string;
}

/** Watchers of one collection over TLS, 10 writes in flight. */
export function b4(environment: Environment): Benchmark {
  const candidates = ([1, 100, 400] as const).flatMap((watchers) => [
    fanOut(environment, `bare ${watchers}`, "floor", "floors/fan-out", watchers),
    fanOut(environment, `server ${watchers}`, "ours", "ours/items-server", watchers),
  ]);
  const line = (watchers: number) => ({
    metric: `deliveries to ${watchers} watchers`,
    unit: "/s",
    better: "more" as const,
    value: perSecond,
    ours: `server ${watchers}`,
    floor: `bare ${watchers}`,
  });
  return {
    id: "B4",
    title: "watches of 2 KB events over TLS, 10 writes in flight",
    candidates,
    lines: [
      line(1),
      line(100),
      line(400),
      {
        metric: "memory of 400 watchers (P7)",
        unit: "MB",
        better: "less",
        value: idleMegabytes,
        ours: "server 400",
        floor: "bare 400",
        // 60 MB for a thousand.
        hold: { ratio: 24 },
      },
    ],
  };
}

function fanOut(environment: Environment, name: string, role: Role, module: string, watchers: number): CandidateSource {
  return {
    name,
    role,
    async start(): Promise<Candidate> {
      const server = environment.worker(module, { isOurs: role === "ours" });
      const load = environment.worker("load/http-watches");
      const endpoint = await server.call<Endpoint>("start", { dir: await environment.directory(), count: 10, bytes });
      const before = treeRssBytes([server.pid]);
      const path = `${itemsPath}?watch=1`;
      await load.call("connect", { ...endpoint, watchers, path });
      // Each watcher is told first of the ten objects that are there, which the floor has none of.
      await load.call("delivery", { expected: role === "ours" ? 10 * watchers : 0 });
      const rssBytes = treeRssBytes([server.pid]) - before;
      return {
        measure: (ms) =>
          withCpu([server.pid], async () => {
            const start = performance.now();
            const events = await server.call<number>("churn", { ms, bytes });
            await load.call("delivery", { expected: events * watchers });
            return { ops: events * watchers, ms: performance.now() - start, rssBytes };
          }),
        async close() {
          await load.close();
          await server.close();
        },
      };
    },
  };
}
