import { beforeEach, expect, test } from "vitest";
import { FakeClock, type Logger, silentLog } from "#lib/base/index.ts";
import { ApiError, ConfigMap, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { ApiClient, ListOptions, WatchEvent, WatchOptions } from "../client/api-client.ts";
import { memoryClient } from "../testing/index.ts";
import { Reflector } from "./reflector.ts";

type Answer = readonly (WatchEvent | Error | "wait")[];

const stored = (name: string, resourceVersion: string): Stored => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default", uid: name, resourceVersion, creationTimestamp: "2026-01-01T00:00:00Z" },
});
const added = (name: string, revision: string): WatchEvent => ({ type: "ADDED", object: stored(name, revision) });
const bookmark = (resourceVersion: string, isEnd = false): WatchEvent => {
  const annotations = isEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {};
  return {
    type: "BOOKMARK",
    object: { apiVersion: "v1", kind: "ConfigMap", metadata: { resourceVersion, ...annotations } },
  };
};

let clock: FakeClock;
let asked: string[];
let told: string[];
let warnings: string[];
let stop: AbortController;

beforeEach(() => {
  clock = new FakeClock();
  [asked, told, warnings] = [[], [], []];
  stop = new AbortController();
});

/** A reflector whose server answers one watch after another, and every list with `items`, as a test says. */
function reflect(watches: Answer[], items: readonly Stored[] = []): Promise<void> {
  const client: ApiClient = Object.assign(memoryClient(), {
    async *watch(_type: unknown, options: WatchOptions) {
      asked.push(options.sendInitialEvents ? "watchlist" : `watch ${options.resourceVersion}`);
      for (const each of watches.shift() ?? ["wait" as const]) {
        if (each instanceof Error) throw each;
        if (each !== "wait") yield each;
        else await new Promise<void>((resolve) => options.signal.addEventListener("abort", () => resolve()));
      }
    },
    async list(_type: unknown, options: ListOptions) {
      asked.push(`list ${options.resourceVersion ?? "newest"}`);
      return { apiVersion: "v1", kind: "ConfigMapList", metadata: { resourceVersion: "50" }, items };
    },
  });
  const log: Logger = { ...silentLog, warn: (message) => warnings.push(message), with: () => log };
  const names = (objects: readonly KubeObject[]) => objects.map(({ metadata }) => metadata.name).join(",");
  const reflector = new Reflector({
    client,
    type: ConfigMap,
    scope: {},
    clock,
    log,
    random: () => 0,
    sink: {
      replace: (objects, revision) => told.push(`replace [${names(objects)}] at ${revision}`),
      apply: ({ type, object }) => told.push(`${type} ${object.metadata.name}`),
      passed: (revision) => told.push(`passed ${revision}`),
    },
  });
  return reflector.run(stop.signal);
}

async function end(running: Promise<void>): Promise<void> {
  stop.abort();
  await running;
}

test("WatchList gives the state when its bookmark comes, then changes", async () => {
  const running = reflect([
    [added("a", "3"), bookmark("4"), added("b", "5"), bookmark("7", true), added("c", "8"), bookmark("9"), "wait"],
  ]);
  await clock.advance(0);
  expect(told).toEqual(["replace [a,b] at 7", "ADDED c", "passed 9"]);
  await end(running);
});

test("what is deleted before the bookmark is not part of the state", async () => {
  const running = reflect([
    [added("a", "3"), added("b", "5"), { type: "DELETED", object: stored("a", "6") }, bookmark("7", true), "wait"],
  ]);
  await clock.advance(0);
  expect(told).toEqual(["replace [b] at 7"]);
  await end(running);
});

test("a WatchList that breaks before its bookmark tells nothing and begins again", async () => {
  const running = reflect([
    [added("a", "3"), new TypeError("broken")],
    [added("a", "3"), bookmark("4", true), "wait"],
  ]);
  await clock.advance(0);
  expect(told).toEqual([]);
  await clock.advance(800);
  expect(told).toEqual(["replace [a] at 4"]);
  expect(asked).toEqual(["watchlist", "watchlist"]);
  await end(running);
});

test("a server that refuses WatchList is listed, from any cache at first and newest after a 410", async () => {
  const invalid = new ApiError("Invalid", "sendInitialEvents is forbidden");
  const running = reflect(
    [[invalid], [added("b", "51"), new ApiError("Expired", "too old")], ["wait"]],
    [stored("a", "40")],
  );
  await clock.advance(1000);
  expect(asked).toEqual(["watchlist", "list 0", "watch 50", "list newest", "watch 50"]);
  expect(told).toEqual(["replace [a] at 50", "ADDED b", "replace [a] at 50"]);
  await end(running);
});

test("a WatchList that ends with an internal error is followed by a list at once, and tried again later", async () => {
  const failed = new ApiError("InternalError", "etcd does not report progress");
  const running = reflect(
    [[added("a", "3"), failed], [new ApiError("Expired", "too old")], [bookmark("60", true), "wait"]],
    [stored("a", "40")],
  );
  await clock.advance(0);
  expect(asked).toEqual(["watchlist", "list 0", "watch 50"]);
  expect(told).toEqual(["replace [a] at 50"]);
  await clock.advance(1000);
  expect(asked).toEqual(["watchlist", "list 0", "watch 50", "watchlist"]);
  await end(running);
});

test("who may not watch is told once what is missing, and goes on with WatchList when it is granted", async () => {
  const refused = new ApiError("Forbidden", "cannot watch configmaps");
  const running = reflect([[refused], [refused], [bookmark("7", true), "wait"]]);
  await clock.advance(60_000);
  expect(asked).toEqual(["watchlist", "watchlist", "watchlist"]);
  expect(told).toEqual(["replace [] at 7"]);
  expect(warnings).toEqual(["watch failed, trying again"]);
  await end(running);
});

test.each([
  ["is busy", new ApiError("TooManyRequests", "later")],
  ["cannot be reached", new TypeError("connection refused")],
])("a server that %s has WatchList perhaps, and is asked again", async (_what, failure) => {
  const running = reflect([[failure], [bookmark("4", true), "wait"]]);
  await clock.advance(800);
  expect(asked).toEqual(["watchlist", "watchlist"]);
  await end(running);
});

test("a watch goes on from the last event or bookmark, not from a repeated older one", async () => {
  const running = reflect([[bookmark("4", true), added("a", "6"), bookmark("9"), added("a", "6")], ["wait"]]);
  await clock.advance(0);
  expect(asked).toEqual(["watchlist", "watch 9"]);
  await end(running);
});

test("a server that is behind the revision asked for was restored: everything is read anew", async () => {
  const running = reflect([
    [bookmark("9", true)],
    [new ApiError("Timeout", "too large a resource version")],
    [bookmark("4", true), "wait"],
  ]);
  await clock.advance(800);
  expect(asked).toEqual(["watchlist", "watch 9", "watchlist"]);
  expect(told).toEqual(["replace [] at 9", "replace [] at 4"]);
  await end(running);
});

test("a watch that ends at once, again and again, is not opened without pause", async () => {
  const running = reflect([[bookmark("4", true)], [], [], [], ["wait"]]);
  await clock.advance(0);
  expect(asked).toHaveLength(2);
  await clock.advance(800 + 1600 + 3200);
  expect(asked).toEqual(["watchlist", "watch 4", "watch 4", "watch 4", "watch 4"]);
  await end(running);
});

test("progress makes the next failure a first one", async () => {
  const failure = new TypeError("broken");
  const running = reflect([[failure], [failure], [bookmark("4", true), failure], ["wait"]]);
  await clock.advance(800 + 1600);
  expect(asked).toHaveLength(3);
  await clock.advance(799);
  expect(asked).toHaveLength(3);
  await clock.advance(1);
  expect(asked).toHaveLength(4);
  await end(running);
});

test("a connection that hears something in time is not given up", async () => {
  const running = reflect([[bookmark("4", true), "wait"]]);
  await clock.advance(149_999);
  expect(asked).toHaveLength(1);
  await clock.advance(1);
  expect(asked).toEqual(["watchlist", "watch 4"]);
  expect(warnings).toEqual(["watch stalled, connecting again"]);
  await end(running);
});

test.each([
  ["back by a day", -86_400_000],
  ["ahead by a day", 86_400_000],
])("a clock that is set %s makes silence neither shorter nor longer", async (_what, jump) => {
  const running = reflect([[bookmark("4", true), "wait"], ["wait"]]);
  await clock.advance(60_000);
  clock.jump(clock.now() + jump);
  await clock.advance(89_999);
  expect(warnings).toEqual([]);
  await clock.advance(1);
  expect(warnings).toEqual(["watch stalled, connecting again"]);
  await end(running);
});

test("a clock that is set does not make a watch that lasted look like one that failed", async () => {
  const silent = [[bookmark("4", true), "wait"], ...Array.from({ length: 3 }, (): Answer => ["wait"])] as Answer[];
  const running = reflect(silent);
  await clock.advance(149_000);
  clock.jump(clock.now() - 149_000);
  await clock.advance(1000);
  // The dead connection was open for long: the next one is not held back for more than the first pause.
  await clock.advance(800);
  expect(asked).toEqual(["watchlist", "watch 4"]);
  await end(running);
});

test("stopping ends a wait between two tries at once", async () => {
  const running = reflect([[new TypeError("broken")]]);
  await clock.advance(100);
  await end(running);
  expect(asked).toHaveLength(1);
});

test.each([
  [0, 5],
  [0.999, 10],
])("every watch asks for bookmarks and for an end after 5 to 10 minutes (chance %d)", async (chance, minutes) => {
  const seen: WatchOptions[] = [];
  const client: ApiClient = Object.assign(memoryClient(), {
    // eslint-disable-next-line require-yield
    async *watch(_type: unknown, options: WatchOptions) {
      seen.push(options);
      if (seen.length === 1) throw new ApiError("Invalid", "no WatchList here");
      await new Promise<void>((resolve) => options.signal.addEventListener("abort", () => resolve()));
    },
  });
  const sink = { replace: () => undefined, apply: () => undefined, passed: () => undefined };
  const options = { client, type: ConfigMap, scope: {}, clock, log: silentLog, random: () => chance, sink };
  const running = new Reflector(options).run(stop.signal);
  await clock.advance(0);
  expect(seen.map(({ sendInitialEvents }) => sendInitialEvents)).toEqual([true, undefined]);
  for (const { allowBookmarks, timeout = 0 } of seen)
    expect([allowBookmarks, Math.round(timeout / 60_000)]).toEqual([true, minutes]);
  await end(running);
});
