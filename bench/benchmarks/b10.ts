import type { Environment } from "../harness/environment.ts";
import { engineCandidate, startEngine } from "../harness/peers.ts";
import type { Benchmark, Candidate, CandidateSource, Measured } from "../harness/types.ts";
import { itemsPath } from "../ours/items.ts";
import { json, overTls, type Serving, startListServer, table } from "./list-server.ts";
import { etcdVersion } from "./versions.ts";
import { sized } from "../harness/sizes.ts";

const count = sized(10_000);
const bytes = 2048;
const msEach = ({ ops, ms }: Measured): number => ms / ops;

/** Lists of 10,000 objects of 2 KB. */
export function b10(environment: Environment): Benchmark {
  const contents = { path: itemsPath, count, bytes };
  const ours = () => startListServer(environment, "ours/items-server", contents);
  const floor = () => startListServer(environment, "floors/list", contents);
  return {
    id: "B10",
    title: "list of 10,000 x 2 KB",
    candidates: [
      engineCandidate(
        environment,
        { name: "etcd", version: etcdVersion(), start: () => startFilledEtcd(environment) },
        { kind: "range", inFlight: 1 },
      ),
      overTls("concat", "floor", floor, json),
      overTls("JSON", "ours", ours, json),
      overTls("Table", "ours", ours, table),
      inProcess("client", ours),
    ],
    lines: [
      {
        metric: "list as JSON over TLS",
        unit: "ms",
        better: "less",
        value: msEach,
        ours: "JSON",
        floor: "concat",
        hold: [{ to: "etcd", ratio: 0.8 }],
        goal: [{ to: "etcd", ratio: 0.5 }],
      },
      {
        metric: "list as Table over TLS",
        unit: "ms",
        better: "less",
        value: msEach,
        ours: "Table",
        floor: "concat",
        goal: [{ to: "JSON", ratio: 2 }],
      },
      { metric: "list, in-process client", unit: "ms", better: "less", value: msEach, ours: "client", floor: "concat" },
      held("JSON"),
      held("Table"),
    ],
  };
}

const held = (form: string) => ({
  metric: `event loop held, ${form}`,
  unit: "ms",
  better: "less" as const,
  value: ({ heldMs = NaN }: Measured) => heldMs,
  ours: form,
  peers: [],
  goal: [{ ratio: 15 }],
});

async function startFilledEtcd(environment: Environment) {
  const engine = await startEngine(environment, "etcd", "etcd", "lists");
  await environment.once("etcd filled", () => engine.worker.call("fill"));
  return engine;
}

const inProcess = (name: string, start: () => Promise<Serving>): CandidateSource => ({
  name,
  role: "ours",
  async start(): Promise<Candidate> {
    const { server } = await start();
    return {
      measure: (ms) => server.call<Measured>("list", { ms, expected: count }),
      close: () => Promise.resolve(),
    };
  },
});
