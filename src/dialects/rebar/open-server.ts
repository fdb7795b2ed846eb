import { hostname } from "node:os";
import { join } from "node:path";
import { type Clock, deferred, type Logger, type Random } from "#lib/base/index.ts";
import { type ListenChoice, openChosen, type Templates } from "#kernel/dialect/index.ts";
import { selfSignedPair } from "#kernel/doors/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { ByteLogs } from "#kernel/logs/index.ts";
import { openRebarApi, type RebarApi } from "./api/open-rebar-api.ts";
import { makeToken } from "./api/tokens.ts";
import type { JobLogs } from "./logs.ts";
import type { Machine } from "./objects.ts";
import type { RebarOptions } from "./options.ts";
import { findParam } from "./params/lookup.ts";
import { type Actions, openActions } from "./plugins/actions.ts";
import type { RenderPlace } from "./render.ts";
import { createRenderer } from "./render/renderer.ts";
import { createSecureParams } from "./secure/secure-params.ts";
import type { FirstUser } from "./store/first-start.ts";
import { type OpenStore, openRebarStore } from "./store/open-store.ts";

export interface ServerParts {
  /** With the rights of the server. */
  readonly client: ApiClient;
  readonly templates: Templates;
  /** Absolute; for logs, files and the certificate. */
  readonly directory: string;
  readonly options: RebarOptions;
  readonly firstUser?: FirstUser;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
}

export interface RebarServer {
  readonly store: OpenStore;
  readonly logs: ByteLogs & JobLogs;
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
  try {
    const api = await openListeners(parts, opened, address);
    opened.reached.resolve(api);
    const { store, logs } = opened;
    return {
      store,
      logs,
      port: api.https.port,
      files: api.http?.address,
      async close() {
        await api.close();
        await closeParts(opened);
      },
    };
  } catch (thrown) {
    await closeParts(opened);
    throw thrown;
  }
}

type Opened = Awaited<ReturnType<typeof openParts>>;

async function openParts(parts: ServerParts) {
  const { client, templates, directory, options, clock, log, random, firstUser } = parts;
  const stop = new AbortController();
  const logs = new ByteLogs({
    directory: join(directory, "job-logs"),
    begin: (job) => new TextEncoder().encode(`Log for Job: ${job}\n`),
  });
  const reached = deferred<RebarApi>();
  const place: { now: RenderPlace | undefined } = { now: undefined };
  const renderer = createRenderer({ templates, place: placeOf(() => place.now) });
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
  const actions = openActions({
    store,
    allowExec: options.allowsHost === true,
    paramOf: (world, machine, name) => findParam(world, { collection: "machines", object: machine }, name)?.value,
  });
  late.actions = actions;
  return { store, logs, renderer, actions, place, reached, stop };
}
