import type { PageCall, PageCaller, Pages } from "#kernel/apiserver/index.ts";
import type { Dialect, Templates } from "#kernel/dialect/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { unknownResource } from "#kernel/model/index.ts";
import type { Clock, JsonObject, Logger, Random } from "#lib/base/index.ts";
import { callerOf, type Cluster, forward, refusalBehind } from "./cluster.ts";
import { lint, listStartables } from "./lint.ts";
import { readableBy, type UiContext } from "./context.ts";
import { sourcesOf } from "./lists.ts";
import { LogIndex, logPage, rawLog, searchLog } from "./logs.ts";
import { decodedParts, protect, readJson, sendBytes, sendJson } from "./reply.ts";
import { detailOf, findRun, runAgain, surroundingsOf } from "./run-detail.ts";
import { type IndexedRun, RunIndex } from "./run-index.ts";
import { pageOf, readFilter } from "./run-query.ts";
import { sourceGrid } from "./source-grid.ts";
import { StaticFiles } from "./static-files.ts";
import { Streams } from "./stream.ts";
import { systemState } from "./system.ts";

export interface UiOptions {
  /** Reads all runs for the shared index; answers are cut to the rights of each caller. */
  readonly client: ApiClient;
  readonly dialects: readonly Dialect[];
  /** The built page. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
  readonly version: string;
  readonly templates?: Templates;
  /** As of `/slipway/status`. */
  readonly about?: () => JsonObject;
  /** The client is of this one, and of the one user who may log in. */
  readonly cluster?: Cluster;
}

/** What answers below `/slipway/`: the page, and its data for callers with a session. */
export function createUi(options: UiOptions): Pages {
  const files = new StaticFiles(options.directory);
  let index: RunIndex | undefined;
  const context: UiContext = {
    ...options,
    index: async () => {
      const made = (index ??= new RunIndex({ ...options, namespace: options.cluster?.namespace }));
      try {
        return await made.ready();
      } catch (thrown) {
        // A cluster that was away is asked again.
        if (index === made) index = undefined;
        made.close();
        throw thrown;
      }
    },
  };
  const logs = new LogIndex();
  const streams = new Streams(context, logs);
  const { client, cluster } = options;
  const answer = async (call: PageCall, caller: PageCaller): Promise<void> => {
    protect(call.response);
    if (cluster === undefined) return await answerData({ context, streams, logs, call, caller });
    try {
      if (/^\/api(?:\/|$)/.test(call.path)) await forward(cluster, call);
      else await answerData({ context, streams, logs, call, caller: callerOf(caller, client) });
    } catch (thrown) {
      throw refusalBehind(thrown);
    }
  };
  return {
    ...(cluster === undefined ? {} : { hasApi: true }),
    async answer(call) {
      const { caller, request, response, path } = call;
      if (caller === undefined) await files.answer(request, response, path);
      else await answer(call, caller);
    },
    close: () => index?.close(),
  };
}

interface Asked {
  readonly context: UiContext;
  readonly streams: Streams;
  readonly logs: LogIndex;
  readonly call: PageCall;
  readonly caller: PageCaller;
}

type Answer = (asked: Asked, rest: readonly string[]) => Promise<void>;

/** By method and first part of the path. */
const answers: Readonly<Record<string, Answer>> = {
  "GET runs": (asked, rest) => (rest.length === 0 ? listRuns(asked) : oneRun(asked, rest)),
  "GET sources": async ({ context, call, caller }, rest) => {
    const runs = (await context.index()).list();
    const now = context.clock.now();
    if (rest.length > 0) {
      const found = runs.filter(isOfSource(rest)).filter(readableBy(caller));
      return sendJson(call.response, { ...(await sourceGrid(context, caller, found, call.signal())), now });
    }
    const filter = readFilter(call.query, readableBy(caller), context.clock);
    sendJson(call.response, { items: sourcesOf(runs.filter(filter.matches)), now });
  },
  "GET system": async ({ context, call, caller }) => sendJson(call.response, await systemState(context, caller)),
  "GET logs": stepLog,
  "GET startables": async ({ context, call, caller }) =>
    sendJson(call.response, { items: await listStartables(context, caller), now: context.clock.now() }),
  "POST lint": async ({ context, call, caller }) =>
    sendJson(call.response, await lint(context, caller, await readJson(call.request), call.signal())),
  "POST stream": ({ streams, call, caller }, [token]) =>
    token === undefined ? streams.open(call, caller) : streams.change(call, caller, token),
};

async function answerData(asked: Asked): Promise<void> {
  const { request, path } = asked.call;
  const [, first = "", ...rest] = decodedParts(path);
  const method = request.method === "HEAD" ? "GET" : (request.method ?? "");
  const answer = Object.hasOwn(answers, `${method} ${first}`) ? answers[`${method} ${first}`] : undefined;
  if (answer === undefined) throw unknownResource();
  await answer(asked, rest);
}

/** The path is DIALECT/NAMESPACE/KIND/NAME. */
function isOfSource(path: readonly string[]): (run: IndexedRun) => boolean {
  const [dialect, namespace, kind, name] = path;
  if (path.length !== 4) throw unknownResource();
  return ({ namespace: own, summary }) =>
    own === namespace && summary.dialect === dialect && summary.source?.kind === kind && summary.source?.name === name;
}

async function listRuns({ context, call, caller }: Asked): Promise<void> {
  const index = await context.index();
  const filter = readFilter(call.query, readableBy(caller), context.clock);
  // The version first: what changes meanwhile comes once more.
  const resourceVersion = index.version;
  const page = pageOf(index.list(), filter, call.query, context.clock.now());
  const { gaps } = index;
  const isCut = gaps.length > 0;
  sendJson(call.response, { ...page, ...(isCut ? { gaps } : {}), resourceVersion, now: context.clock.now() });
}

async function oneRun({ context, call, caller }: Asked, rest: readonly string[]): Promise<void> {
  const [dialect = "", namespace = "", name = "", what = "", ...more] = rest;
  if (name === "" || more.length > 0 || !["", "again"].includes(what)) throw unknownResource();
  const kind = call.query.get("kind") ?? undefined;
  const found = await findRun(caller.client, context.dialects, { dialect, namespace, name, kind }, call.signal());
  if (what === "again") return sendJson(call.response, runAgain(found));
  const surroundings = await surroundingsOf(caller.client, found);
  sendJson(call.response, detailOf(found, surroundings, context.clock.now()));
}

async function stepLog({ context, logs, call, caller }: Asked, rest: readonly string[]): Promise<void> {
  const [dialect = "", namespace = "", name = "", what = "", ...more] = rest;
  if (name === "" || more.length > 0 || !["", "search", "raw"].includes(what)) throw unknownResource();
  const { query } = call;
  const run = { dialect, namespace, name, kind: query.get("kind") ?? undefined };
  const read = { context, caller, logs, run, query, signal: call.signal() };
  if (what === "raw") await sendBytes(call.response, rawLog(read));
  else sendJson(call.response, what === "" ? await logPage(read) : await searchLog(read));
}
