import { withCpu } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import { engineCandidate, startEngine } from "../harness/peers.ts";
import type { Benchmark, Candidate, CandidateSource, Measured, Role } from "../harness/types.ts";
import type { WorkerProcess } from "../harness/worker-process.ts";
import { objects } from "../floors/load.ts";
import { etcdVersion } from "./versions.ts";

const connections = 64;
const bytes = 1024;
const perSecond = ({ ops, ms }: Measured): number => (ops / ms) * 1000;

/** Durable writes over HTTP, and reads of single objects. */
export function b3(environment: Environment): Benchmark {
  const startEtcd = () => startEngine(environment, "etcd", "etcd", "http writes");
  return {
    id: "B3",
    title: "API writes of 1 KB custom resources, 64 connections",
    candidates: [
      engineCandidate(
        environment,
        { name: "etcd", version: etcdVersion(), start: startEtcd },
        { kind: "txn", inFlight: connections },
      ),
      overHttp(environment, "https", "floor", "floors/https", { tls: true }),
      overHttp(environment, "server", "ours", "ours/items-server", { count: objects, bytes }),
      overHttp(environment, "http", "floor", "floors/https", { tls: false }),
      overHttp(environment, "https GET", "floor", "floors/https", { tls: true }, "load/http-gets"),
      overHttp(environment, "server GET", "ours", "ours/items-server", { count: objects, bytes }, "load/http-gets"),
    ],
    lines: [
      {
        metric: "writes over TLS",
        unit: "/s",
        better: "more",
        value: perSecond,
        ours: "server",
        floor: "https",
        hold: [{ to: "etcd", ratio: 1 }],
        goal: [{ to: "etcd", ratio: 1.5 }],
      },
      {
        metric: "server CPU per write",
        unit: "us",
        better: "less",
        value: ({ cpuUs, ops }) => cpuUs / ops,
        ours: "server",
        floor: "https",
        goal: [{ to: "etcd", ratio: 1 }],
      },
      {
        metric: "server CPU per GET",
        unit: "us",
        better: "less",
        value: ({ cpuUs, ops }) => cpuUs / ops,
        ours: "server GET",
        peers: [],
        floor: "https GET",
      },
    ],
  };
}

interface Listening {
  readonly port: number;
  readonly token: string;
  readonly ca?: string;
  readonly revisions: readonly string[];
}

/** A server in one process and its load in another. */
function overHttp(
  environment: Environment,
  name: string,
  role: Role,
  module: string,
  options: object,
  loadModule: "load/http-writes" | "load/http-gets" = "load/http-writes",
): CandidateSource {
  return {
    name,
    role,
    async start(): Promise<Candidate> {
      const server = environment.worker(module, { isOurs: role === "ours" });
      const load = environment.worker(loadModule);
      const dir = await environment.directory();
      const listening = await server.call<Listening>("start", { ...options, dir });
      await load.call("connect", { ...listening, connections });
      return {
        measure: (ms) => withCpu([server.pid], () => measure(server, load, role, ms)),
        async close() {
          await load.close();
          await server.close();
        },
      };
    },
  };
}

async function measure(server: WorkerProcess, load: WorkerProcess, role: Role, ms: number) {
  if (role !== "ours") return await load.call<Measured>("run", { ms });
  await server.call("held");
  const figures = await load.call<Measured>("run", { ms });
  return { ...figures, heldMs: await server.call<number>("held") };
}
