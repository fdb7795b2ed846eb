import { engineCandidate, startEngine } from "../harness/peers.ts";
import { inWorker } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import type { Benchmark, Measured } from "../harness/types.ts";
import { etcdVersion } from "./versions.ts";

const inFlight = 256;
const perSecond = ({ ops, ms }: Measured): number => (ops / ms) * 1000;

/** Durable writes through the client of this process. */
export function b3b(environment: Environment): Benchmark {
  const worker = (name: string, role: "ours" | "floor", module: string) =>
    inWorker(environment, { name, role, module, load: { inFlight } });
  return {
    id: "B3b",
    title: "in-process client, 256 writes in flight",
    candidates: [
      engineCandidate(
        environment,
        { name: "etcd", version: etcdVersion(), start: () => startEngine(environment, "etcd", "etcd", "writes") },
        { kind: "txn", inFlight },
      ),
      worker("LMDB", "floor", "floors/lmdb"),
      worker("client", "ours", "ours/client-writes"),
      worker("log", "floor", "floors/log"),
      worker("store", "ours", "ours/store-writes"),
    ],
    lines: [
      {
        metric: "writes, client",
        unit: "/s",
        better: "more",
        value: perSecond,
        ours: "client",
        floor: "LMDB",
        hold: [{ to: "LMDB", ratio: 0.5 }],
        goal: [
          { to: "etcd", ratio: 8 },
          { to: "log", ratio: 0.35 },
        ],
      },
      { metric: "writes, store alone", unit: "/s", better: "more", value: perSecond, ours: "store", floor: "LMDB" },
    ],
  };
}
