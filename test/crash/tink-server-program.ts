import { join } from "node:path";
import { messageOf, systemClock } from "#lib/base/index.ts";
import { toCrds } from "#lib/schema/index.ts";
import { createApiServer, openStore } from "#kernel/apiserver/index.ts";
import { type ApiClient, createHttpClient, loadKubeconfig, Manager } from "#kernel/kit/index.ts";
import { TemplateHost } from "#kernel/template/index.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { addController } from "#dialects/tinkerbell/controller.ts";
import { kinds as dialectKinds } from "#dialects/tinkerbell/kinds.ts";
import { addTinkerbellServer, type TinkerbellServerOptions } from "#dialects/tinkerbell/server/server.ts";
import { holding } from "./tink/holds.ts";

// A server with a durable store, the controller and the server of agents of this dialect, as one process that is killed:
// `node tink-server-program.mjs DIRECTORY DIST OPTIONS [KUBECONFIG]`. With a kubeconfig that cluster is the store. Who has started it asks the API
// by messages, `{id, method, args}` to `{id, value}` or `{id, error}`; `{ready}` comes first.

const [directory = "", dist = "", options = "{}", kubeconfig] = process.argv.slice(2);
const { settings, ...others } = JSON.parse(options) as TinkerbellServerOptions;

const say = (level: string) => (message: string, fields?: object) =>
  void process.stderr.write(`${new Date().toISOString()} ${level} ${message} ${JSON.stringify(fields ?? {})}\n`);
const log = { error: say("error"), warn: say("warn"), info: say("info"), debug: () => undefined, with: () => log };

const clock = systemClock;
const client = kubeconfig === undefined ? await openOwn() : await openCluster(kubeconfig);
const renderer = new TemplateHost({
  program: join(dist, "template-thread.cjs"),
  artifact: join(dist, "template.wasm"),
  clock,
});
const manager = new Manager({ client: holding(client, join(directory, "holds")), clock, log, random: Math.random });
const configured = settings === undefined ? {} : { settings };
addController(manager, { renderer, ...configured });
const { port } = addTinkerbellServer(manager, { ...others, ...configured });
manager.run(new AbortController().signal).catch((thrown: unknown) => {
  log.error("controllers have failed", { error: messageOf(thrown) });
  process.exit(1);
});

/** What whoever has started this may ask of the API. */
interface Question {
  readonly id: number;
  readonly method: "get" | "list" | "create" | "delete" | "patch";
  readonly args: readonly never[];
}

process.on("message", ({ id, method, args }: Question) => {
  const ask = client[method].bind(client) as (...args: readonly never[]) => Promise<unknown>;
  ask(...args).then(
    (value) => process.send?.({ id, value }),
    (thrown: unknown) => process.send?.({ id, error: messageOf(thrown) }),
  );
});
// Whoever has started it has gone.
process.on("disconnect", () => process.exit(0));
process.send?.({ ready: await port });

async function openOwn(): Promise<ApiClient> {
  const store = await openStore(join(directory, "store"), { clock });
  const definitions = toCrds([...dialectKinds, RunAction]);
  const server = await createApiServer({ store, clock, log, version: "0.0.0", definitions });
  return server.client();
}

async function openCluster(file: string): Promise<ApiClient> {
  const connection = await loadKubeconfig({ files: [file], environment: process.env, clock, log });
  return createHttpClient({ connection, clock, log, random: Math.random });
}
