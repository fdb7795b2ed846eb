import { inWorker, withCpu } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import { engineCandidate, startEngine } from "../harness/peers.ts";
import type { Benchmark, Candidate, CandidateSource, Measured, Role } from "../harness/types.ts";
import { objects } from "../floors/load.ts";
import { etcdVersion } from "./versions.ts";

const inFlight = 64;
const bytes = 1_200;
const perSecond = ({ ops, ms }: Measured): number => (ops / ms) * 1000;
const p50 = ({ p50: value = NaN }: Measured): number => value;
const p99 = ({ p99: value = NaN }: Measured): number => value;

/** Durable creation of objects of 1.2 KB: P1, P2 and P3. */
export const creates = (environment: Environment): readonly Benchmark[] => [
  p1(environment),
  p2(environment),
  p3(environment),
];

const p1 = (environment: Environment): Benchmark => ({
  id: "P1",
  title: "in-process creates of 1.2 KB, 64 in flight",
  candidates: [
    inWorker(environment, {
      name: "LMDB",
      role: "floor",
      module: "floors/lmdb",
      load: { inFlight, bytes, creates: true },
    }),
    inWorker(environment, { name: "client", role: "ours", module: "ours/client-creates", load: { inFlight } }),
  ],
  lines: [
    {
      metric: "creates, client",
      unit: "/s",
      better: "more",
      value: perSecond,
      ours: "client",
      floor: "LMDB",
      hold: [{ ratio: 5000 }, { to: "LMDB", ratio: 0.5 }],
    },
  ],
});

const p2 = (environment: Environment): Benchmark => ({
  id: "P2",
  title: "HTTPS creates of 1.2 KB, 64 connections",
  candidates: [
    engineCandidate(
      environment,
      {
        name: "etcd",
        version: etcdVersion(),
        start: () => startEngine(environment, "etcd", "etcd", "http writes"),
      },
      { kind: "txn", inFlight },
    ),
    overHttps(environment, "https", "floor", inFlight),
    overHttps(environment, "server", "ours", inFlight),
  ],
  lines: [
    {
      metric: "creates over TLS",
      unit: "/s",
      better: "more",
      value: perSecond,
      ours: "server",
      floor: "https",
      hold: [{ ratio: 1000 }, { to: "https", ratio: 0.75 }, { to: "etcd", ratio: 1 }],
    },
  ],
});

const p3 = (environment: Environment): Benchmark => ({
  id: "P3",
  title: "HTTPS creates of 1.2 KB, one after the other",
  candidates: [
    inWorker(environment, { name: "flush", role: "floor", module: "floors/flush", load: { inFlight: 1 } }),
    overHttps(environment, "https", "floor", 1),
    overHttps(environment, "server", "ours", 1),
  ],
  lines: [
    {
      metric: "one create over TLS, p50",
      unit: "ms",
      better: "less",
      value: p50,
      ours: "server",
      floor: "flush",
      hold: [{ to: "flush", ratio: 1, plus: 2 }],
    },
    {
      metric: "one create over TLS, p99 to p50",
      unit: "x",
      better: "less",
      value: (window) => p99(window) / p50(window),
      ours: "server",
      floor: "https",
      hold: [{ ratio: 5 }],
    },
  ],
});

/** A server in one process, and callers in another that create objects over connections of their own. */
function overHttps(
  environment: Environment,
  name: string,
  role: Extract<Role, "ours" | "floor">,
  connections: number,
): CandidateSource {
  const [module, first, options] =
    role === "ours"
      ? (["ours/items-server", 0, { count: 0, bytes }] as const)
      : (["floors/https", objects, { tls: true, commitTo: "tables" }] as const);
  return {
    name,
    role,
    async start(): Promise<Candidate> {
      const server = environment.worker(module, { isOurs: role === "ours" });
      const load = environment.worker("load/http-creates");
      const listening = await server.call<object>("start", { ...options, dir: await environment.directory() });
      await load.call("connect", { ...listening, connections, first });
      return {
        measure: (ms) => withCpu([server.pid], () => load.call<Measured>("run", { ms })),
        async close() {
          await load.close();
          await server.close();
        },
      };
    },
  };
}
