import { messageOf } from "#lib/base/index.ts";

// One of the programs under measurement, in a process of its own. Its module's functions are called through messages, one at
// a time, each with one argument.

type Module = Readonly<Record<string, unknown>>;

const modules: Readonly<Record<string, () => Promise<Module>>> = {
  "ours/engine": () => import("./engine.ts"),
  "ours/workflow-library": () => import("./ours/workflow-library.ts"),
  "floors/runs-log": () => import("./floors/runs-log.ts"),
  "floors/runs-object": () => import("./floors/runs-object.ts"),
  "floors/runs-delta": () => import("./floors/runs-delta.ts"),
  "ours/client-writes": () => import("./ours/client-writes.ts"),
  "ours/workflow-server": () => import("./ours/workflow-server.ts"),
  "ours/host-server": () => import("./ours/host-server.ts"),
  "load/http-fan-out": () => import("./load/http-fan-out.ts"),
  "load/http-runs": () => import("./load/http-runs.ts"),
  "load/applications": () => import("./load/applications.ts"),
  "ours/store-writes": () => import("./store.ts"),
  "ours/items-server": () => import("./ours/items-server.ts"),
  "ours/pods-server": () => import("./ours/pods-server.ts"),
  "ours/stored-items": () => import("./ours/stored-items.ts"),
  "ours/templates": () => import("./ours/templates.ts"),
  "ours/cue": () => import("./ours/cue.ts"),
  "floors/native-cue": () => import("./floors/native-cue.ts"),
  "load/cue-wasm": () => import("./load/cue-wasm.ts"),
  "floors/native-templates": () => import("./floors/native-templates.ts"),
  "floors/fan-out": () => import("./floors/fan-out.ts"),
  "load/etcd-watches": () => import("./load/etcd-watches.ts"),
  "load/slow-watches": () => import("./load/slow-watches.ts"),
  "load/http-watches": () => import("./load/http-watches.ts"),
  "floors/log": () => import("./floors/log.ts"),
  "floors/lmdb": () => import("./floors/lmdb.ts"),
  "floors/https": () => import("./floors/https.ts"),
  "floors/stored": () => import("./floors/stored.ts"),
  "floors/documents": () => import("./floors/documents.ts"),
  "floors/list": () => import("./floors/list.ts"),
  "load/http-writes": () => import("./load/http-writes.ts"),
  "ours/client-creates": () => import("./ours/client-creates.ts"),
  "load/http-creates": () => import("./load/http-creates.ts"),
  "floors/flush": () => import("./floors/flush.ts"),
  "ours/applies": () => import("./ours/applies.ts"),
  "ours/jobs": () => import("./ours/jobs.ts"),
  "floors/spawns": () => import("./floors/spawns.ts"),
  "ours/recovering-server": () => import("./ours/recovering-server.ts"),
  "ours/agents-server": () => import("./ours/agents-server.ts"),
  "floors/agents-server": () => import("./floors/agents-server.ts"),
  "load/agents": () => import("./load/agents.ts"),
  "ours/log-server": () => import("./ours/log-server.ts"),
  "floors/line-server": () => import("./floors/line-server.ts"),
  "load/log-push": () => import("./load/log-push.ts"),
  "ours/log-intake": () => import("./ours/log-intake.ts"),
  "ours/log-store": () => import("./ours/log-store.ts"),
  "floors/split-lines": () => import("./floors/split-lines.ts"),
  "floors/brought-lines": () => import("./floors/brought-lines.ts"),
  "ours/builds-cluster": () => import("./ours/builds-cluster.ts"),
  "ours/printing-worker": () => import("./ours/printing-worker.ts"),
  "floors/carried-lines": () => import("./floors/carried-lines.ts"),
  "ours/replay-server": () => import("./ours/replay-server.ts"),
  "floors/replay-server": () => import("./floors/replay-server.ts"),
  "load/log-replay": () => import("./load/log-replay.ts"),
  "floors/puts": () => import("./floors/puts.ts"),
  "floors/sockets": () => import("./floors/sockets.ts"),
  "load/rebar-jobs": () => import("./load/rebar-jobs.ts"),
  "load/rebar-listeners": () => import("./load/rebar-listeners.ts"),
  "load/http-gets": () => import("./load/http-gets.ts"),
  "load/http-list": () => import("./load/http-list.ts"),
};

interface Question {
  readonly method: string;
  readonly argument?: unknown;
}

async function answer(module: Module, { method, argument }: Question): Promise<void> {
  if (method === "exit") process.exit(0);
  const called = module[method];
  try {
    if (typeof called !== "function") throw new Error(`no function ${method}`);
    process.send?.({ value: await called(argument) });
  } catch (thrown) {
    process.send?.({ error: thrown instanceof Error ? `${thrown.stack}` : messageOf(thrown) });
  }
}

const name = process.argv[2] ?? "";
const load = modules[name];
if (load === undefined) throw new Error(`no program named ${name}`);
const module = await load();
process.on("message", (question: Question) => void answer(module, question));
// Nobody is left to ask.
process.on("disconnect", () => process.exit(0));
process.send?.({ ready: true });
