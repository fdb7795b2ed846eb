import { setTimeout as sleep } from "node:timers/promises";
import { withCpu } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import { treeRssBytes } from "../harness/memory.ts";
import type { PacedWrites } from "../harness/open-loop.ts";
import type { Benchmark, CandidateSource, Line, Measured } from "../harness/types.ts";
import type { WorkerProcess } from "../harness/worker-process.ts";
import { itemsPath } from "../ours/items.ts";

const perSecond = ({ ops, ms }: Measured): number => (ops / ms) * 1000;

/** Watches of one collection over TLS: B4, P6 and P7. */
export const watches = (environment: Environment): readonly Benchmark[] => [
  b4(environment),
  p6(environment),
  p7(environment),
];

function b4(environment: Environment): Benchmark {
  const counts = [1, 100, 400] as const;
  return {
    id: "B4",
    title: "watches of 2 KB events over TLS, 10 writes in flight",
    candidates: counts.flatMap((watchers) =>
      bothOf(environment, { watchers, objects: 10, bytes: 2048, measure: churn }),
    ),
    lines: counts.map((watchers) => ({
      metric: `deliveries to ${watchers} watchers`,
      unit: "/s",
      better: "more",
      value: perSecond,
      ours: `server ${watchers}`,
      floor: `bare ${watchers}`,
    })),
  };
}

/** At a fixed rate, from the moment at which a write is due: its commit counts too. */
function p6(environment: Environment): Benchmark {
  const line = (share: "p50" | "p99", ms: number): Line => ({
    metric: `event delivered after its write was due, ${share}`,
    unit: "ms",
    better: "less",
    value: (window) => window[share] ?? NaN,
    ours: "server 100",
    floor: "bare 100",
    hold: [{ ratio: ms }],
  });
  return {
    id: "P6",
    title: "100 watchers, 500 writes/s of 1.2 KB over TLS",
    candidates: bothOf(environment, { watchers: 100, objects: 10, bytes: 1200, measure: paced }),
    lines: [line("p50", 10), line("p99", 100)],
  };
}

function p7(environment: Environment): Benchmark {
  const [ours, floor] = ["server 1000", "bare 1000"];
  return {
    id: "P7",
    title: "1,000 idle watchers over TLS",
    // V8 may give back what a thousand handshakes have taken, or keep it: 56 and 75 MB were both seen.
    windowMs: 20_000,
    isCold: true,
    candidates: bothOf(environment, { watchers: 1000, objects: 1, bytes: 1200, measure: idle }),
    lines: [
      {
        metric: "memory of 1,000 idle watchers",
        unit: "MB",
        better: "less",
        value: ({ rssBytes = NaN }) => rssBytes / 1e6,
        ours,
        floor,
        hold: [{ ratio: 60 }],
      },
      {
        metric: "CPU, percent of a core",
        unit: "%",
        better: "less",
        value: ({ cpuUs, ms }) => cpuUs / 10 / ms,
        ours,
        floor,
        hold: [{ ratio: 2 }],
      },
    ],
  };
}

/** A server with its watchers, who are processes of their own. */
interface Watched {
  readonly server: WorkerProcess;
  readonly load: WorkerProcess;
  readonly watchers: number;
  readonly bytes: number;
  /** Of the server before anybody watched. */
  readonly rssBefore: number;
}

type Measure = (watched: Watched, ms: number) => Promise<Omit<Measured, "cpuUs">>;

/** As many writes as ten writers make. */
async function churn({ server, load, watchers, bytes }: Watched, ms: number) {
  const start = performance.now();
  const events = await server.call<number>("churn", { ms, bytes });
  await load.call("delivery", { expected: events * watchers });
  return { ops: events * watchers, ms: performance.now() - start };
}

const rate = 500;

async function paced({ server, load, watchers }: Watched, ms: number) {
  await load.call("note");
  const start = performance.now();
  const { writes, ...timing } = await server.call<PacedWrites>("pace", { ms, perSecond: rate });
  await load.call("delivery", { expected: writes * watchers });
  const took = performance.now() - start;
  const shares = await load.call<Pick<Measured, "p50" | "p99">>("latencies", { ...timing, perSecond: rate });
  return { ops: writes * watchers, ms: took, ...shares };
}

async function idle({ server, rssBefore }: Watched, ms: number) {
  const start = performance.now();
  await sleep(ms);
  return { ops: 1, ms: performance.now() - start, rssBytes: treeRssBytes([server.pid]) - rssBefore };
}

interface Endpoint {
  readonly port: number;
  readonly token: string;
  readonly ca: string;
}

interface Setup {
  readonly watchers: number;
  /** That are there when the watches begin. */
  readonly objects: number;
  /** Of each of them. */
  readonly bytes: number;
  readonly measure: Measure;
}

function bothOf(environment: Environment, setup: Setup): readonly CandidateSource[] {
  const source = (name: string, role: "ours" | "floor", module: string): CandidateSource => ({
    name: `${name} ${setup.watchers}`,
    role,
    async start() {
      const watched = await startWatched(environment, module, role === "ours", setup);
      return {
        measure: (ms) => withCpu([watched.server.pid], () => setup.measure(watched, ms)),
        async close() {
          await watched.load.close();
          await watched.server.close();
        },
      };
    },
  });
  return [source("bare", "floor", "floors/fan-out"), source("server", "ours", "ours/items-server")];
}

/** Watches of one user; a server allows 500. */
const perUser = 400;

async function startWatched(
  environment: Environment,
  module: string,
  isOurs: boolean,
  { watchers, objects, bytes }: Setup,
): Promise<Watched> {
  const server = environment.worker(module, { isOurs });
  const load = environment.worker("load/http-watches");
  const endpoint = await server.call<Endpoint>("start", { dir: await environment.directory(), count: objects, bytes });
  const rssBefore = treeRssBytes([server.pid]);
  const tokens = await server.call<readonly string[]>("users", { count: Math.ceil(watchers / perUser) });
  await load.call("connect", { ...endpoint, tokens, watchers, path: `${itemsPath}?watch=1` });
  // Each watcher is told first of the objects that are there, which the floor has none of.
  await load.call("delivery", { expected: isOurs ? objects * watchers : 0 });
  return { server, load, watchers, bytes, rssBefore };
}
