import { type Clock, keyedSerializer, type Logger, type Random } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { isAlreadyExists, type KubeObject, Namespace, type OwnerReference, type Stored } from "#kernel/model/index.ts";
import { features as serverFeatures } from "../api/info.ts";
import { defaultNamespace } from "../kinds.ts";
import type { JobLogs } from "../job-logs.ts";
import type { Collection } from "../objects.ts";
import type { Renderer } from "../render.ts";
import type { RebarStore, Write } from "../store.ts";
import { bundlesOf } from "./bundles.ts";
import { create, remove, update } from "./changes.ts";
import { completeEdit } from "./direct-edits.ts";
import { Events } from "./events.ts";
import { startFeed } from "./feed.ts";
import { type FirstUser, firstStart } from "./first-start.ts";
import { postJob } from "./jobs.ts";
import { Mirror } from "./mirror.ts";
import { nameOf } from "./names.ts";
import { type ActionEnd, type ActionRequest, missing, type Parts } from "./parts.ts";
import { Passwords } from "./passwords.ts";
import { setPrefs } from "./prefs.ts";
import { Projections } from "./projections.ts";
import { keptKey, ownerOf, TokenKey } from "./secrets.ts";
import { repair } from "./upkeep.ts";
import { Writer } from "./writer.ts";

export interface OpenStoreOptions {
  /** With the rights of the server. */
  readonly client: ApiClient;
  readonly namespace?: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
  /** Ends everything at once; `close` ends in order. */
  readonly signal: AbortSignal;
  /** Checks templates before they are stored. */
  readonly renderer?: Pick<Renderer, "check">;
  /** What bundles may require of the server; by default what its API has. */
  readonly features?: readonly string[];
  /** For what the server itself writes into logs of jobs. */
  readonly logs?: JobLogs;
  /** Runs an `action:` entry. Without it such entries fail. */
  readonly runAction?: (request: ActionRequest) => Promise<ActionEnd>;
  /** Created once, at the first start. */
  readonly firstUser?: FirstUser;
}

export interface OpenStore extends RebarStore {
  readonly passwords: Pick<Passwords, "set" | "check">;
  /** 32 bytes that sign tokens. */
  readonly tokenKey: Uint8Array;
  /** 32 bytes that open sealed values of this object, made on first use. */
  sealKey(collection: Collection, key: string): Promise<Uint8Array>;
  /** What the object is stored as; undefined if it is built in, or unknown. */
  storedOf(collection: Collection, key: string): Stored | undefined;
  /** Ends after the writes that are under way. */
  close(): Promise<void>;
}

/** Reads everything, repairs what a crash has left, and follows all changes. */
export async function openRebarStore(options: OpenStoreOptions): Promise<OpenStore> {
  const { parts, stop } = partsOf(options);
  await ensureNamespace(parts);
  const informers = await startFeed(parts);
  try {
    await firstStart(parts, options.firstUser);
    await repair(parts);
    await parts.tokens.read();
  } catch (thrown) {
    stop.abort(thrown);
    await informers.close();
    throw thrown;
  }
  return storeOver(parts, async () => {
    await parts.projections.close();
    stop.abort(new Error("the store is closed"));
    await informers.close();
  });
}

function partsOf(options: OpenStoreOptions): { readonly parts: Parts; readonly stop: AbortController } {
  const { client, clock, log, random, namespace = defaultNamespace, renderer, logs, runAction } = options;
  const { features = serverFeatures } = options;
  const stop = new AbortController();
  const mirror = new Mirror();
  const writer = new Writer({ client, namespace, clock, mirror });
  const parts: Parts = {
    client,
    namespace,
    clock,
    log,
    random,
    signal: AbortSignal.any([options.signal, stop.signal]),
    mirror,
    world: mirror,
    writer,
    events: new Events(clock, log),
    projections: new Projections({ mirror, writer, clock, log }),
    tokens: new TokenKey({ client, namespace, clock }),
    inTurn: keyedSerializer<string>(),
    renderer,
    logs,
    features,
    runAction,
    async complete(collection, key) {
      const entry = mirror.table(collection).entry(key);
      if (entry !== undefined) await completeEdit(parts, collection, entry);
    },
  };
  return { parts, stop };
}

async function ensureNamespace({ client, namespace }: Parts): Promise<void> {
  if ((await getOrUndefined(client, { type: Namespace, name: namespace })) !== undefined) return;
  const object: KubeObject = { apiVersion: "v1", kind: Namespace.kind, metadata: { name: namespace } };
  try {
    await client.create(Namespace, object);
  } catch (thrown) {
    if (!isAlreadyExists(thrown)) throw thrown;
  }
}

function storeOver(parts: Parts, close: () => Promise<void>): OpenStore {
  const { mirror, events } = parts;
  return {
    world: mirror,
    create: (collection, sent, write) => create(parts, collection, sent, write),
    update: (collection, key, change, write) => update(parts, collection, key, change, write),
    remove: (collection, key, write) => remove(parts, collection, key, write),
    postJob: (request, write) => postJob(parts, request, write),
    setPrefs: (values, write: Write) => setPrefs(parts, values, write),
    listen: (listener) => events.listen(listener),
    publish: (event) => events.publish(event),
    bundles: bundlesOf(parts),
    passwords: new Passwords(parts),
    get tokenKey() {
      return parts.tokens.key;
    },
    storedOf: (collection, key) => mirror.table(collection).entry(key)?.object,
    sealKey: (collection, key) => sealKey(parts, collection, key),
    close,
  };
}

/** Objects of bundles have no owner that lasts: their keys stay over new revisions. */
async function sealKey(parts: Parts, collection: Collection, key: string): Promise<Uint8Array> {
  const entry = parts.mirror.table(collection).entry(key);
  if (parts.mirror.get(collection, key) === undefined) throw missing(collection, key);
  const isOwned = entry !== undefined && entry.revision === undefined;
  const owner: OwnerReference | undefined = isOwned ? ownerOf(entry.object) : undefined;
  return await keptKey(parts, `rebar-seal.${collection}.${nameOf(key)}`, "key", owner);
}
