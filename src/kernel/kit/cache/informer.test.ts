import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, type LogFields, type Logger, silentLog } from "#lib/base/index.ts";
import { ConfigMap, isNotFound, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { ApiClient, WatchOptions } from "../client/api-client.ts";
import { type MemoryClient, memoryClient } from "../testing/index.ts";
import { freshClient } from "./fresh-client.ts";
import { Informer } from "./informer.ts";
import { InformerFactory } from "./informer-factory.ts";

type Data = KubeObject & { readonly data: Readonly<Record<string, string>> };

const configMap = (name: string, data: Record<string, string> = {}, namespace = "default"): Data => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace, labels: { app: data["app"] ?? "none" } },
  data,
});

let clock: FakeClock;
let client: MemoryClient;
let stop: AbortController;
let running: Promise<void>[];

beforeEach(() => {
  clock = new FakeClock();
  client = memoryClient({ clock, namespaces: ["other"] });
  stop = new AbortController();
  running = [];
});
afterEach(async () => {
  stop.abort();
  await Promise.all(running);
});

interface Options {
  readonly through?: ApiClient;
  readonly scope?: { readonly namespace?: string; readonly labelSelector?: string };
  readonly log?: Logger;
}

async function informerOf(options: Options = {}): Promise<Informer<Data>> {
  const informer = new Informer<Data>({
    client: options.through ?? client,
    type: ConfigMap,
    clock,
    log: options.log ?? silentLog,
    random: () => 0,
    ...(options.scope === undefined ? {} : { scope: options.scope }),
  });
  running.push(informer.run(stop.signal));
  await clock.advance(0);
  return informer;
}

/** Every call a handler gets, as one line each. */
function recorder(informer: Informer<Data>): string[] {
  const seen: string[] = [];
  const name = (object: Stored) => object.metadata.name;
  informer.addHandler({
    add: (object, { isInitial }) => seen.push(`${isInitial ? "initial" : "add"} ${name(object)}`),
    update: (old, object, { isResync }) =>
      seen.push(`${isResync ? "resync" : "update"} ${name(object)} ${old.data["v"] ?? ""}->${object.data["v"] ?? ""}`),
    delete: (object, about) => seen.push(`delete ${name(object)}${about.isFinalStateUnknown ? " (missed)" : ""}`),
  });
  return seen;
}

describe("mirroring", () => {
  test("handlers hear of present objects and then of every change in order", async () => {
    await client.create(ConfigMap, configMap("a", { v: "1" }));
    const informer = await informerOf();
    const seen = recorder(informer);
    await client.update(ConfigMap, configMap("a", { v: "2" }));
    await client.create(ConfigMap, configMap("b"));
    await client.delete({ type: ConfigMap, namespace: "default", name: "a" });
    await clock.advance(0);
    expect(seen).toEqual(["initial a", "update a 1->2", "add b", "delete a"]);
  });

  test("a lister finds by key, by namespace, by labels and by index", async () => {
    await client.create(ConfigMap, configMap("a", { app: "web" }));
    await client.create(ConfigMap, configMap("b", { app: "db" }));
    await client.create(ConfigMap, configMap("c", { app: "web" }, "other"));
    const informer = await informerOf();
    informer.addIndex("app", (object) => [object.data["app"] ?? ""]);
    const names = (objects: readonly Stored[]) => objects.map((object) => object.metadata.name).sort();
    expect(informer.get("default/a")?.data).toEqual({ app: "web" });
    expect(informer.get("default/c")).toBeUndefined();
    expect(names(informer.list({ namespace: "other" }))).toEqual(["c"]);
    expect(names(informer.list({ labels: [{ key: "app", operator: "In", values: ["web"] }] }))).toEqual(["a", "c"]);
    expect(names(informer.byIndex("app", "web"))).toEqual(["a", "c"]);
    await client.update(ConfigMap, configMap("a", { app: "db" }));
    await clock.advance(0);
    expect(names(informer.byIndex("app", "web"))).toEqual(["c"]);
    expect(names(informer.byIndex("app", "db"))).toEqual(["a", "b"]);
  });

  test("an index nobody added is a mistake that is told", async () => {
    const informer = await informerOf();
    expect(() => informer.byIndex("nope", "x")).toThrow('there is no index "nope"');
  });

  test("an informer of a namespace and a selector mirrors nothing else", async () => {
    const informer = await informerOf({ scope: { namespace: "default", labelSelector: "app=web" } });
    const seen = recorder(informer);
    await client.create(ConfigMap, configMap("a", { app: "web" }));
    await client.create(ConfigMap, configMap("b", { app: "db" }));
    await client.create(ConfigMap, configMap("c", { app: "web" }, "other"));
    await client.update(ConfigMap, configMap("a", { app: "db" }));
    await clock.advance(0);
    expect(seen).toEqual(["add a", "delete a"]);
  });

  test("synced resolves after the first list and rejects when its signal aborts", async () => {
    const never = memoryClient();
    const informer = new Informer({ client: never, type: ConfigMap, clock, log: silentLog, random: () => 0 });
    await expect(informer.synced(AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
    const abort = new AbortController();
    const waiting = informer.synced(abort.signal);
    abort.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    const synced = await informerOf();
    await synced.synced(stop.signal);
    expect(synced.hasSynced()).toBe(true);
  });

  test("a handler that throws stops neither the others nor the informer", async () => {
    const errors: (LogFields | undefined)[] = [];
    const log: Logger = { ...silentLog, error: (_message, fields) => errors.push(fields), with: () => log };
    const informer = await informerOf({ log });
    informer.addHandler({
      add: () => {
        throw new Error("bad handler");
      },
    });
    const seen = recorder(informer);
    await client.create(ConfigMap, configMap("a"));
    await client.create(ConfigMap, configMap("b"));
    await clock.advance(0);
    expect(seen).toEqual(["add a", "add b"]);
    expect(errors).toHaveLength(2);
  });

  test("a handler that comes while a change is told hears of each object once", async () => {
    const informer = await informerOf();
    const late: string[] = [];
    let isAdded = false;
    informer.addHandler({
      add() {
        if (isAdded) return;
        isAdded = true;
        informer.addHandler({ add: (object, { isInitial }) => late.push(`${object.metadata.name} ${isInitial}`) });
      },
    });
    await client.create(ConfigMap, configMap("a"));
    await client.create(ConfigMap, configMap("b"));
    await clock.advance(0);
    expect(late).toEqual(["a true", "b false"]);
  });

  test("a handler that is taken away while a change is told does not hear of it", async () => {
    const informer = await informerOf();
    const seen: string[] = [];
    const remove: (() => void)[] = [];
    informer.addHandler({ add: () => remove[0]?.() });
    remove.push(informer.addHandler({ add: (object) => seen.push(object.metadata.name) }));
    await client.create(ConfigMap, configMap("a"));
    await clock.advance(0);
    expect(seen).toEqual([]);
    remove[0]?.();
  });

  test("an empty namespace is none, for the mirror and for its lister", async () => {
    await client.create(ConfigMap, configMap("a"));
    await client.create(ConfigMap, configMap("b", {}, "other"));
    const informer = await informerOf({ scope: { namespace: "" } });
    expect(informer.list({ namespace: "" })).toHaveLength(2);
    expect(informer.list({ namespace: "other" }).map(({ metadata }) => metadata.name)).toEqual(["b"]);
    const written = await client.create(ConfigMap, configMap("c"));
    informer.noteWritten(written);
    expect(informer.get("default/c")).toBe(written);
  });

  test("a mirror that is synced twice in one turn tells of nothing twice", async () => {
    await client.create(ConfigMap, configMap("a"));
    const informer = await informerOf();
    const seen = recorder(informer);
    client.dropWatches();
    await clock.advance(2000);
    client.compact();
    client.dropWatches();
    await clock.advance(2000);
    expect(seen).toEqual(["initial a"]);
  });

  test("a resync repeats every object to the handler that asked for it, until it is removed", async () => {
    await client.create(ConfigMap, configMap("a", { v: "1" }));
    const informer = await informerOf();
    const seen: string[] = [];
    const update = (old: Stored, object: Stored, about: { readonly isResync: boolean }) =>
      seen.push(`${object.metadata.name} ${about.isResync && old === object}`);
    const remove = informer.addHandler({ update }, { resyncEvery: 1000 });
    await clock.advance(2500);
    expect(seen).toEqual(["a true", "a true"]);
    remove();
    await clock.advance(5000);
    expect(seen).toHaveLength(2);
  });
});

describe("trouble", () => {
  test("after 410 the state is listed again and missed deletions are told as such", async () => {
    await client.create(ConfigMap, configMap("a", { v: "1" }));
    await client.create(ConfigMap, configMap("b"));
    let isBlocked = false;
    const through: ApiClient = {
      ...bound(client),
      watch: (type, options) => (isBlocked ? down() : client.watch(type, options)),
    };
    const informer = await informerOf({ through });
    const seen = recorder(informer);
    isBlocked = true;
    client.dropWatches();
    await clock.advance(100);
    await client.update(ConfigMap, configMap("a", { v: "2" }));
    await client.delete({ type: ConfigMap, namespace: "default", name: "b" });
    await client.create(ConfigMap, configMap("c"));
    client.compact();
    isBlocked = false;
    await clock.advance(120_000);
    expect(seen).toEqual(["initial a", "initial b", "delete b (missed)", "update a 1->2", "add c"]);
  });

  test("an object replaced by another of the same name is told as deletion and addition", async () => {
    await client.create(ConfigMap, configMap("a", { v: "1" }));
    let isBlocked = false;
    const through: ApiClient = {
      ...bound(client),
      watch: (type, options) => (isBlocked ? down() : client.watch(type, options)),
    };
    const informer = await informerOf({ through });
    const seen = recorder(informer);
    isBlocked = true;
    client.dropWatches();
    await clock.advance(10);
    await client.delete({ type: ConfigMap, namespace: "default", name: "a" });
    await client.create(ConfigMap, configMap("a", { v: "2" }));
    client.compact();
    isBlocked = false;
    await clock.advance(120_000);
    expect(seen).toEqual(["initial a", "delete a (missed)", "add a"]);
  });

  test("a watch that ends is taken up where it ended", async () => {
    const revisions: (string | undefined)[] = [];
    const through: ApiClient = {
      ...bound(client),
      watch: (type, options) => {
        revisions.push(options.resourceVersion);
        return client.watch(type, options);
      },
    };
    const informer = await informerOf({ through });
    const seen = recorder(informer);
    const created = await client.create(ConfigMap, configMap("a"));
    await clock.advance(0);
    client.dropWatches();
    await client.create(ConfigMap, configMap("b"));
    await clock.advance(2000);
    expect(seen).toEqual(["add a", "add b"]);
    expect(revisions).toEqual([undefined, created.metadata.resourceVersion]);
  });

  test("a server without WatchList is listed and watched", async () => {
    await client.create(ConfigMap, configMap("a"));
    const through: ApiClient = {
      ...bound(client),
      async *watch(type, options: WatchOptions) {
        if (options.sendInitialEvents !== undefined) await client.raw("/no/such/thing");
        yield* client.watch<never>(type, options);
      },
    };
    const informer = await informerOf({ through });
    const seen = recorder(informer);
    await client.create(ConfigMap, configMap("b"));
    await clock.advance(0);
    expect(seen).toEqual(["initial a", "add b"]);
  });

  test("failures are retried after 0.8 s, doubling to 30 s", async () => {
    const tries: number[] = [];
    const begin = clock.now();
    const through: ApiClient = {
      ...bound(client),
      watch: () => {
        tries.push(clock.now() - begin);
        return down();
      },
    };
    await informerOf({ through });
    await clock.advance(120_000);
    expect(tries.slice(0, 8)).toEqual([0, 800, 2400, 5600, 12_000, 24_800, 50_400, 80_400]);
  });

  test("a silent connection is given up after two and a half minutes and made anew", async () => {
    let watches = 0;
    const through: ApiClient = {
      ...bound(client),
      async *watch(type, options: WatchOptions) {
        watches++;
        // Bookmarks never come through: the connection looks open and is dead.
        for await (const event of client.watch<never>(type, options))
          if (event.type !== "BOOKMARK" || event.object.metadata.annotations !== undefined) yield event;
      },
    };
    const informer = await informerOf({ through });
    const seen = recorder(informer);
    await clock.advance(149_000);
    expect(watches).toBe(1);
    await clock.advance(2000);
    expect(watches).toBe(2);
    await client.create(ConfigMap, configMap("a"));
    await clock.advance(0);
    expect(seen).toEqual(["add a"]);
  });
});

describe("own writes", () => {
  const make = async () => {
    let isHeld = false;
    let release: () => void = () => undefined;
    const through: ApiClient = {
      ...bound(client),
      async *watch(type, options: WatchOptions) {
        for await (const event of client.watch<never>(type, options)) {
          if (isHeld) await new Promise<void>((resolve) => (release = resolve));
          yield event;
        }
      },
    };
    const factory = new InformerFactory({ client: through, clock, log: silentLog, random: () => 0 });
    const { informer } = factory.acquire<Data>(ConfigMap);
    informer.addIndex("v", (object) => [object.data["v"] ?? ""]);
    await clock.advance(0);
    const hold = () => (isHeld = true);
    const letGo = async () => {
      isHeld = false;
      release();
      await clock.advance(0);
    };
    return { informer, factory, hold, letGo, fresh: freshClient(client, factory) };
  };

  test("a write is read at once, in every way, while its event is still on the way", async () => {
    const { informer, factory, hold, letGo, fresh } = await make();
    await fresh.create(ConfigMap, configMap("a", { v: "1" }));
    await clock.advance(0);
    hold();
    const seen = recorder(informer);
    await fresh.update(ConfigMap, configMap("a", { v: "2" }));
    const created = await fresh.create(ConfigMap, configMap("b", { v: "2" }));
    await clock.advance(0);
    expect(informer.get("default/a")?.data).toEqual({ v: "2" });
    expect(informer.get("default/b")).toEqual(created);
    expect(informer.list()).toHaveLength(2);
    expect(informer.byIndex("v", "1")).toEqual([]);
    expect(informer.byIndex("v", "2")).toHaveLength(2);
    expect(seen).toEqual(["initial a"]);
    await letGo();
    expect(seen).toEqual(["initial a", "update a 1->2", "add b"]);
    expect(informer.list()).toHaveLength(2);
    await factory.close();
  });

  test("a deletion that waits for a finalizer shows at once, one that is done or only tried does not", async () => {
    const { informer, factory, hold, letGo, fresh } = await make();
    const guarded = configMap("a");
    await client.create(ConfigMap, { ...guarded, metadata: { ...guarded.metadata, finalizers: ["slipway.dev/test"] } });
    await client.create(ConfigMap, configMap("b"));
    await clock.advance(0);
    hold();
    const isTerminating = (name: string) => informer.get(`default/${name}`)?.metadata.deletionTimestamp !== undefined;
    await fresh.delete({ type: ConfigMap, namespace: "default", name: "a" }, { dryRun: true });
    expect(isTerminating("a")).toBe(false);
    await fresh.delete({ type: ConfigMap, namespace: "default", name: "a" });
    expect(isTerminating("a")).toBe(true);
    await fresh.delete({ type: ConfigMap, namespace: "default", name: "b" });
    expect([informer.get("default/b") === undefined, isTerminating("b")]).toEqual([false, false]);
    await letGo();
    expect(informer.get("default/b")).toBeUndefined();
    await factory.close();
  });

  test("an older event does not hide a newer own write", async () => {
    const { informer, factory, hold, letGo, fresh } = await make();
    await client.create(ConfigMap, configMap("a", { v: "1" }));
    await clock.advance(0);
    hold();
    await client.update(ConfigMap, configMap("a", { v: "2" }));
    await fresh.update(ConfigMap, configMap("a", { v: "3" }));
    const values: (string | undefined)[] = [];
    informer.addHandler({ update: () => values.push(informer.get("default/a")?.data["v"]) });
    await clock.advance(0);
    await letGo();
    expect(values).toEqual(["3", "3"]);
    await factory.close();
  });

  test("a write noted after its object was seen to be deleted does not bring it back", async () => {
    const { informer, factory } = await make();
    const created = await client.create(ConfigMap, configMap("a", { v: "1" }));
    await client.delete({ type: ConfigMap, namespace: "default", name: "a" });
    await clock.advance(0);
    informer.noteWritten(created);
    expect(informer.get("default/a")).toBeUndefined();
    expect(informer.list()).toEqual([]);
    await factory.close();
  });

  test("a dry run is not read", async () => {
    const { informer, factory, fresh } = await make();
    await fresh.create(ConfigMap, configMap("a"), { dryRun: true });
    expect(informer.get("default/a")).toBeUndefined();
    await factory.close();
  });

  test("an object outside the informer's selector is not read from it", async () => {
    const informer = await informerOf({ scope: { labelSelector: "app=web" } });
    informer.noteWritten(await client.create(ConfigMap, configMap("a", { app: "db" })));
    expect(informer.list()).toEqual([]);
  });
});

describe("sharing", () => {
  test("one informer serves all who ask for the same scope, and stops with the last share", async () => {
    let open = 0;
    const through: ApiClient = {
      ...bound(client),
      async *watch(type, options: WatchOptions) {
        open++;
        try {
          yield* client.watch<never>(type, options);
        } finally {
          open--;
        }
      },
    };
    const factory = new InformerFactory({ client: through, clock, log: silentLog, random: () => 0 });
    const first = factory.acquire(ConfigMap);
    const second = factory.acquire(ConfigMap);
    const scoped = factory.acquire(ConfigMap, { namespace: "other" });
    await factory.synced(stop.signal);
    expect(first.informer).toBe(second.informer);
    expect(open).toBe(2);
    first.release();
    first.release();
    await clock.advance(0);
    expect(open).toBe(2);
    second.release();
    await clock.advance(0);
    expect(open).toBe(1);
    scoped.release();
    await factory.close();
    expect(open).toBe(0);
    expect(() => factory.acquire(ConfigMap)).toThrow("closed");
  });

  test("the fresh client is the client in everything else", async () => {
    const factory = new InformerFactory({ client, clock, log: silentLog, random: () => 0 });
    const fresh = freshClient(client, factory);
    await fresh.create(ConfigMap, configMap("a"));
    await fresh.patch(
      { type: ConfigMap, namespace: "default", name: "a" },
      { type: "merge", body: { data: { v: "9" } } },
    );
    expect((await fresh.get<Data>({ type: ConfigMap, namespace: "default", name: "a" })).data).toEqual({ v: "9" });
    await fresh.deleteCollection(ConfigMap, { namespace: "default" });
    await expect(fresh.get({ type: ConfigMap, namespace: "default", name: "a" })).rejects.toSatisfy(isNotFound);
    await factory.close();
  });
});

/** The client as plain functions, to replace one of them. */
function bound(inner: ApiClient): ApiClient {
  const factory = new InformerFactory({ client: inner, clock, log: silentLog, random: () => 0 });
  return freshClient(inner, factory);
}

/** A watch that fails at once, as when no server listens. */
const down = (): AsyncIterable<never> => ({
  [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new TypeError("connection refused")) }),
});
