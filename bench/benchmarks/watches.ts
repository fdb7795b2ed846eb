import { setTimeout as sleep } from "node:timers/promises";
import { withCpu } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import { startService } from "../harness/peers.ts";
import { treeRssBytes } from "../harness/memory.ts";
import type { PacedWrites } from "../harness/open-loop.ts";
import type { Benchmark, CandidateSource, Line, Measured } from "../harness/types.ts";
import type { WorkerProcess } from "../harness/worker-process.ts";
import { itemsPath } from "../ours/items.ts";
import { etcdVersion } from "./versions.ts";
import { sized } from "../harness/sizes.ts";

const perSecond = ({ ops, ms }: Measured): number => (ops / ms) * 1000;

/** Watches of one collection over TLS: B4, P6 and P7. */
export const watches = (environment: Environment): readonly Benchmark[] => [
  b4(environment),
  p6(environment),
  p7(environment),
];

function b4(environment: Environment): Benchmark {
  const counts = [1, 100, 1000] as const;
  const setup = { objects: 10, bytes: eventBytes, measure: churn };
  const slow = { ...setup, watchers: 100, slowReaders: 10 };
  return {
    id: "B4",
    title: "watches of 2 KB events over TLS (etcd without), 10 writes in flight",
    candidates: [
      ...counts.flatMap((watchers) => [etcd(environment, watchers), ...bothOf(environment, { ...setup, watchers })]),
      ours(environment, slow),
    ],
    lines: [
      ...counts.flatMap((watchers) => deliveries(watchers)),
      {
        metric: "deliveries to 100, 10 more read 1 KB/s",
        unit: "/s",
        better: "more",
        value: perSecond,
        ours: nameOf("server", slow),
        peers: [],
        hold: [{ to: "server 100", ratio: 0.8 }],
      },
      {
        // Each of the 110 may have an equal share of 128 MiB waiting for it.
        metric: "memory they take",
        unit: "MB",
        better: "less",
        value: ({ rssBytes = NaN }) => rssBytes / 1e6,
        ours: nameOf("server", slow),
        peers: [],
        hold: [{ to: "server 100", ratio: 1, plus: 40 }],
      },
    ],
  };
}

const deliveries = (watchers: number): readonly Line[] => [
  {
    metric: `deliveries to ${watchers} watchers`,
    unit: "/s",
    better: "more",
    value: perSecond,
    ours: `server ${watchers}`,
    peers: [`etcd ${watchers}`],
    floor: `bare ${watchers}`,
    hold: [{ to: "best peer", ratio: 1.5 }],
    goal: [{ to: "best peer", ratio: 6 }],
  },
  {
    metric: `server CPU per delivery, ${watchers} watchers`,
    unit: "us",
    better: "less",
    value: ({ cpuUs, ops }) => cpuUs / ops,
    ours: `server ${watchers}`,
    peers: [`etcd ${watchers}`],
    goal: [{ to: "best peer", ratio: 0.3 }],
  },
];

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
    windowMs: sized(20_000),
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
  readonly slow: WorkerProcess | undefined;
  readonly watchers: number;
  readonly bytes: number;
  /** Of the server before anybody watched. */
  readonly rssBefore: number;
}

type Measure = (watched: Watched, ms: number) => Promise<Omit<Measured, "cpuUs">>;

/** As many writes as ten writers make. */
async function churn({ server, load, watchers, bytes, rssBefore }: Watched, ms: number) {
  const start = performance.now();
  const events = await server.call<number>("churn", { ms, bytes });
  await load.call("delivery", { expected: events * watchers });
  const took = performance.now() - start;
  return { ops: events * watchers, ms: took, rssBytes: treeRssBytes([server.pid]) - rssBefore };
}

const eventBytes = 2048;

/** A server of its own for each number of watchers; who writes is no watcher. */
const etcd = (environment: Environment, watchers: number): CandidateSource => ({
  name: `etcd ${watchers}`,
  role: "peer",
  version: etcdVersion(),
  async start() {
    const { pid, port } = await startService(environment, "etcd");
    const [writer, load] = [environment.worker("load/etcd-watches"), environment.worker("load/etcd-watches")];
    await load.call("connect", { port, watchers });
    const measure = async (ms: number) => {
      const start = performance.now();
      const events = await writer.call<number>("churn", { port, ms, bytes: eventBytes });
      await load.call("delivery", { expected: events * watchers });
      return { ops: events * watchers, ms: performance.now() - start };
    };
    return {
      measure: (ms) => withCpu([pid], () => measure(ms)),
      async close() {
        await load.close();
        await writer.close();
      },
    };
  },
});

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
  /** Who watch as well, and read a kilobyte a second. */
  readonly slowReaders?: number;
  /** That are there when the watches begin. */
  readonly objects: number;
  /** Of each of them. */
  readonly bytes: number;
  readonly measure: Measure;
}

const nameOf = (name: string, { watchers, slowReaders }: Setup): string =>
  slowReaders === undefined ? `${name} ${watchers}` : `${name} ${watchers}, ${slowReaders} slow`;

const bothOf = (environment: Environment, setup: Setup): readonly CandidateSource[] => [
  source(environment, "floor", setup),
  ours(environment, setup),
];

const ours = (environment: Environment, setup: Setup): CandidateSource => source(environment, "ours", setup);

function source(environment: Environment, role: "ours" | "floor", setup: Setup): CandidateSource {
  const isOurs = role === "ours";
  return {
    name: nameOf(isOurs ? "server" : "bare", setup),
    role,
    async start() {
      const watched = await startWatched(environment, isOurs, setup);
      return {
        measure: (ms) => withCpu([watched.server.pid], () => setup.measure(watched, ms)),
        async close() {
          await watched.slow?.close();
          await watched.load.close();
          await watched.server.close();
        },
      };
    },
  };
}

/** Watches of one user; a server allows 500. */
const perUser = 400;

async function startWatched(
  environment: Environment,
  isOurs: boolean,
  { watchers: named, slowReaders, objects, bytes }: Setup,
): Promise<Watched> {
  const watchers = sized(named);
  const server = environment.worker(isOurs ? "ours/items-server" : "floors/fan-out", { isOurs });
  const load = environment.worker("load/http-watches");
  const endpoint = await server.call<Endpoint>("start", { dir: await environment.directory(), count: objects, bytes });
  const rssBefore = treeRssBytes([server.pid]);
  const tokens = await server.call<readonly string[]>("users", { count: Math.ceil(watchers / perUser) });
  const path = `${itemsPath}?watch=1`;
  const slow = slowReaders === undefined ? undefined : environment.worker("load/slow-watches");
  await slow?.call("connect", { ...endpoint, watchers: slowReaders, path });
  await load.call("connect", { ...endpoint, tokens, watchers, path });
  // Each watcher is told first of the objects that are there, which the floor has none of.
  await load.call("delivery", { expected: isOurs ? objects * watchers : 0 });
  return { server, load, slow, watchers, bytes, rssBefore };
}
