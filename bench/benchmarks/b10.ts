import { withCpu } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import { engineCandidate, startEngine } from "../harness/peers.ts";
import type { Benchmark, Candidate, CandidateSource, Measured } from "../harness/types.ts";
import type { WorkerProcess } from "../harness/worker-process.ts";
import { itemsPath } from "../ours/items.ts";
import { etcdVersion } from "./versions.ts";

const count = 10_000;
const bytes = 2048;
const json = { accept: "application/json", mark: '"name":"item-' };
const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io", mark: '"cells":[' };
const msEach = ({ ops, ms }: Measured): number => ms / ops;

interface Listening {
  readonly port: number;
  readonly token: string;
  readonly ca: string;
}

/** Lists of 10,000 objects of 2 KB. */
export function b10(environment: Environment): Benchmark {
  const ours = async () => {
    const server = await startServer(environment, "ours/items-server", true);
    return server;
  };
  const floor = () => startServer(environment, "floors/list", false);
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

interface Serving {
  readonly server: WorkerProcess;
  readonly load: WorkerProcess;
  readonly listening: Listening;
}

/** One server and one load generator for all forms of the list. */
function startServer(environment: Environment, module: string, isOurs: boolean): Promise<Serving> {
  return environment.once(`lists ${module}`, async () => {
    const server = environment.worker(module, { isOurs });
    const load = environment.worker("load/http-list");
    environment.onClose(() => server.close());
    environment.onClose(() => load.close());
    const dir = await environment.directory();
    const listening = await server.call<Listening>("start", { dir, count, bytes });
    await load.call("connect", listening);
    return { server, load, listening };
  });
}

function overTls(
  name: string,
  role: "ours" | "floor",
  start: () => Promise<Serving>,
  form: { readonly accept: string; readonly mark: string },
): CandidateSource {
  return {
    name,
    role,
    async start(): Promise<Candidate> {
      const { server, load, listening } = await start();
      const run = { token: listening.token, path: itemsPath, expected: count, ...form };
      return {
        measure: (ms) =>
          withCpu([server.pid], async () => {
            if (role === "ours") await server.call("held");
            const figures = await load.call<Measured>("run", { ms, ...run });
            return role === "ours" ? { ...figures, heldMs: await server.call<number>("held") } : figures;
          }),
        close: () => Promise.resolve(),
      };
    },
  };
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
