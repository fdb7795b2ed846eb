import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { type Clock, type Logger, type Random } from "#lib/base/index.ts";
import type { ControllerParts } from "#kernel/dialect/index.ts";
import { selfSignedPair } from "#kernel/doors/index.ts";
import type { ApiClient, EventRecorder } from "#kernel/kit/index.ts";
import type { ByteLogs } from "#kernel/streams/index.ts";
import { openRebarApi, type RebarApi } from "./api/open-rebar-api.ts";
import { type OpenContextsOptions, openContexts } from "./contexts/open-contexts.ts";
import { infoOf } from "./api/info.ts";
import { makeToken, renderTokens } from "./api/tokens.ts";
import { openJobLogs } from "./job-logs.ts";
import { defaultNamespace } from "./kinds.ts";
import { MachineAgents } from "./machine-agents.ts";
import { boundJobs } from "./old-jobs.ts";
import type { RebarOptions } from "./options.ts";
import { type Actions, openActions } from "./plugins/actions.ts";
import type { ActionOutcome } from "./plugins/run-command.ts";
import type { RenderPlace } from "./render.ts";
import { createRenderer } from "./render/renderer.ts";
import { createSecureParams } from "./secure/secure-params.ts";
import type { FirstUser } from "./store/first-start.ts";
import { type OpenStore, openRebarStore } from "./store/open-store.ts";
import type { ActionEnd } from "./store/parts.ts";

export interface ServerParts {
  /** With the rights of the server. */
  readonly client: ApiClient;
  readonly templates: ControllerParts["templates"];
  /** Absolute; for logs, files and the certificate. */
  readonly directory: string;
  readonly options: RebarOptions;
  readonly firstUser?: FirstUser;
  /** With it agents of machines are shown: `kubectl get agents`. */
  readonly recorder?: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
  /** For agents of contexts; absent: none are started. */
  readonly contexts?: Pick<OpenContextsOptions, "environment" | "podStreams">;
}

export interface RebarServer {
  readonly store: OpenStore;
  readonly logs: ByteLogs;
  close(): Promise<void>;
}

export interface ListeningServer extends RebarServer {
  readonly port: number;
  /** Of static files, `host:port`; undefined without them. */
  readonly files: string | undefined;
}

/** The store alone, for what needs no listener. */
export async function openStoreOnly(parts: ServerParts): Promise<RebarServer> {
  const opened = await openParts(parts);
  return { ...opened, close: () => closeParts(opened) };
}

/** The store and the listeners: `/api/v3` at `address`, files where the options say. Rejects if a port is taken. */
export async function openServer(parts: ServerParts, address: string): Promise<ListeningServer> {
  const opened = await openParts(parts);
  const agents = agentsOf(parts, opened);
  try {
    const { api, certificate } = await openListeners(parts, opened, address, agents);
    agents?.begin();
    const contexts = await contextsOf(parts, opened, api, certificate);
    const { store, logs } = opened;
    return {
      store,
      logs,
      port: api.https.port,
      files: api.http?.address,
      async close() {
        await contexts?.close();
        await api.close();
        await agents?.close();
        await closeParts(opened);
      },
    };
  } catch (thrown) {
    await agents?.close();
    await closeParts(opened);
    throw thrown;
  }
}

const agentsOf = (
  { client, clock, log, recorder }: ServerParts,
  { store }: Pick<Opened, "store">,
): MachineAgents | undefined =>
  recorder && new MachineAgents({ client, clock, log, recorder, server: hostname(), world: store.world });

type Opened = Awaited<ReturnType<typeof openParts>>;

async function openParts(parts: ServerParts) {
  const { client, templates, directory, options, clock, log, random, firstUser } = parts;
  const stop = new AbortController();
  const logs = openJobLogs(join(directory, "job-logs"));
  const place: { now: RenderPlace | undefined } = { now: undefined };
  const renderer = createRenderer({
    templates,
    /** Renderings come after the listeners are open. */
    get place() {
      if (place.now === undefined) throw new Error("the server is starting");
      return place.now;
    },
  });
  const late: { actions?: Actions } = {};
  const { namespace } = options;
  const store = await openRebarStore({
    client,
    ...(namespace === undefined ? {} : { namespace }),
    clock,
    log,
    random,
    signal: stop.signal,
    renderer,
    logs,
    runAction: async ({ machine, plugin, command, by, signal }) => {
      const done = await late.actions?.run({ machine, plugin, command, params: {}, by }, signal);
      return done === undefined ? { isOk: false, log: "the server is starting\n" } : endOf(command, done);
    },
    ...(firstUser === undefined ? {} : { firstUser }),
  });
  void boundJobs({ store, clock, log, signal: stop.signal });
  const secure = createSecureParams({ world: store.world, sealKey: (owner, key) => store.sealKey(owner, key) });
  const actions = openActions({
    store,
    secure,
    allowExec: options.allowsHost === true,
    clock,
  });
  late.actions = actions;
  return { store, logs, renderer, secure, actions, place, stop };
}

/** What the log of an action's job says, in the original's words. */
function endOf(command: string, outcome: ActionOutcome): ActionEnd {
  if (outcome.kind === "done") {
    const result = JSON.stringify(outcome.result, null, 2);
    return { isOk: true, log: `Results from plugin invoke:\n${result}\nEnd of results\n` };
  }
  const head = outcome.kind === "failed" ? `Action invoke ${command} failed` : `Action ${command} validation failed:`;
  return { isOk: false, log: `${[head, outcome.reason, outcome.output].filter((line) => line !== "").join("\n")}\n` };
}

async function openListeners(parts: ServerParts, opened: Opened, address: string, agents: MachineAgents | undefined) {
  const { directory, options, clock, log } = parts;
  const { store, logs, renderer, secure, actions, place } = opened;
  const host = options.machineHost ?? hostOf(address);
  const tls = await selfSignedPair(join(directory, "pki"), "rebar", clock.now(), [host]);
  const facts = {
    id: `${host}:${address}`,
    address: host,
    hostname: hostname(),
    arch: archName(),
    os: process.platform,
  };
  const open = (files: string | undefined): Promise<RebarApi> =>
    openRebarApi({
      store,
      renderer,
      logs,
      // Whole: its key changes with the preference `baseTokenSecret`.
      accounts: store,
      secure,
      actions,
      ...(agents === undefined ? {} : { agents }),
      dataDirectory: directory,
      https: { address, tls },
      http: files === undefined ? undefined : { address: files },
      facts,
      clock,
      log,
    });
  const api = await open(options.files?.address);
  place.now = {
    provisionerUrl: api.http === undefined ? "" : `http://${host}:${api.http.port}`,
    apiUrl: `https://${host}:${api.https.port}`,
    ...renderTokens(store, store.world, clock),
    open: (owner, sealed) => secure.open(owner, sealed),
    hasTree: (path) => existsSync(join(directory, "trees", path)),
    info: () => infoOf({ ...facts, apiPort: api.https.port, filePort: api.http?.port ?? 0 }, store.world),
  };
  return { api, certificate: tls.cert };
}

/** Agents of contexts are clients like any others: they reach the listener on this machine. */
async function contextsOf(parts: ServerParts, { store }: Opened, api: RebarApi, certificate: string) {
  const { client, clock, contexts, directory, log, options } = parts;
  if (contexts === undefined) return undefined;
  const host = api.https.address.replace(/:\d+$/, "").replace(/^(?:0\.0\.0\.0|\[::\])$/, "127.0.0.1");
  return await openContexts({
    ...contexts,
    store,
    client,
    namespace: options.namespace ?? defaultNamespace,
    endpoint: `https://${host}:${api.https.port}`,
    certificate,
    machineToken: (machine, seconds) =>
      makeToken(store.tokenKey, store.world, { kind: "machine", machine }, clock.now() + seconds * 1000),
    directory,
    allowsHost: options.allowsHost === true,
    clock,
    log,
  });
}

const hostOf = (address: string): string => address.replace(/:\d+$/, "").replaceAll(/[[\]]/g, "");

/** Go's names, as clients expect them. */
const archName = (): string => ({ x64: "amd64", ia32: "386" })[process.arch as string] ?? process.arch;

async function closeParts({ store, logs, stop }: Opened): Promise<void> {
  await store.close();
  stop.abort(new Error("the server stops"));
  await logs.close();
}
