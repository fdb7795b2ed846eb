import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { deferred, FakeClock, formatTime, type JsonObject } from "#lib/base/index.ts";
import { memoryStore } from "../store/open.ts";
import type { Store, Subscription, Transaction } from "../store/store.ts";
import { waitUntil } from "../testing/index.ts";
import type { ApiContext } from "../verbs/context.ts";
import { EventTtl } from "./event-ttl.ts";

const hour = 3_600_000;
const maxEvents = 2_000;

let clock: FakeClock;
let store: Store;
let warnings: string[];
/** Stands before every removal. */
let beforeWrite: () => Promise<void>;
let ttl: EventTtl;
let subscription: Subscription;

function start(): void {
  const write = async <T>(work: (transaction: Transaction) => T): Promise<T> => {
    await beforeWrite();
    return store.write(work);
  };
  const seen: Store = new Proxy(store, {
    get: (target, name) => {
      if (name === "write") return write;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const log = {
    error: () => undefined,
    warn: (text: string) => void warnings.push(text),
    info: () => undefined,
    debug: () => undefined,
  };
  const context = { store: seen, clock, log: { ...log, with: () => log }, limits: { eventTtlMs: hour, maxEvents } };
  ttl = new EventTtl(context as unknown as ApiContext);
  subscription = store.subscribeAll((events) => ttl.observe(events));
  ttl.start();
}

beforeEach(() => {
  clock = new FakeClock();
  store = memoryStore({ clock });
  warnings = [];
  beforeWrite = async () => undefined;
});
afterEach(async () => {
  subscription.close();
  await ttl.close();
  await store.close();
});

const keyOf = (name: string) => ({ group: "", resource: "events", namespace: "n", name });
function put(name: string, more: JsonObject = {}, resource = "events"): Promise<unknown> {
  const key = { ...keyOf(name), resource };
  const metadata = { name, namespace: "n", uid: `${resource}-${name}`, creationTimestamp: formatTime(clock.now()) };
  return store.write((transaction) => {
    const before = transaction.head(key)?.object()["metadata"] ?? metadata;
    transaction.put(key, { apiVersion: "v1", kind: "Event", metadata: before, ...more });
  });
}
const there = (name: string, resource = "events") => store.get({ ...keyOf(name), resource }) !== undefined;
const count = () => store.count({ group: "", resource: "events" });

describe("an Event", () => {
  test("goes when its time is over, not a second before", async () => {
    start();
    await put("e");
    await clock.advance(hour - 1000);
    expect(there("e")).toBe(true);
    await clock.advance(1000);
    await waitUntil(() => !there("e"));
  });

  test("lives on from its last change, whatever changed", async () => {
    start();
    await put("a");
    await put("b");
    await clock.advance(hour / 2);
    await put("a", { count: 2 });
    await clock.advance(hour / 2);
    await waitUntil(() => !there("b"));
    expect(there("a")).toBe(true);
    await clock.advance(hour / 2);
    await waitUntil(() => !there("a"));
  });

  test("that was deleted by somebody else is forgotten, and a new one of its name lives its own time", async () => {
    start();
    await put("e");
    await store.write((transaction) => transaction.remove(keyOf("e")));
    await clock.advance(hour / 2);
    await put("e");
    await clock.advance(hour / 2);
    expect(there("e")).toBe(true);
    await clock.advance(hour / 2);
    await waitUntil(() => !there("e"));
  });

  test("is an object of the core group: others of that plural stay", async () => {
    start();
    await put("mine", {}, "eventsources");
    await clock.advance(2 * hour);
    expect(there("mine", "eventsources")).toBe(true);
  });
});

describe("at the start", () => {
  const ago = (ms: number) => formatTime(clock.now() - ms);

  test.each<[string, () => JsonObject, number]>([
    ["its last time", () => ({ lastTimestamp: ago(hour - 60_000) }), 60_000],
    ["the time of a single event", () => ({ eventTime: ago(hour - 120_000) }), 120_000],
    ["the newer of two times", () => ({ eventTime: ago(2 * hour), lastTimestamp: ago(hour / 2) }), hour / 2],
    ["now, when it says it is from the future", () => ({ lastTimestamp: ago(-24 * hour) }), hour],
    ["its creation, when its times are none", () => ({ lastTimestamp: "yesterday", eventTime: null }), hour],
  ])("an Event counts from %s", async (what, times, left) => {
    await clock.advance(3 * hour);
    // It has a time of its own, unless that is what is asked for.
    const created = ago(what.startsWith("its creation") ? 0 : 3 * hour);
    const metadata = { name: "e", namespace: "n", uid: "u", creationTimestamp: created };
    const object = { apiVersion: "v1", kind: "Event", metadata, ...times() };
    await store.write((transaction) => transaction.put(keyOf("e"), object));
    start();
    await clock.advance(left - 1000);
    expect(there("e")).toBe(true);
    await clock.advance(1000);
    await waitUntil(() => !there("e"));
  });

  test("no Event is parsed whose time cannot be over yet", async () => {
    await put("e", { lastTimestamp: formatTime(clock.now()) });
    const { cacheBytes } = store.stats();
    start();
    await clock.advance(hour - 1000);
    expect(store.stats().cacheBytes).toBe(cacheBytes);
    await clock.advance(1000);
    await waitUntil(() => !there("e"));
  });

  test("what is overdue goes batch by batch", async () => {
    for (let at = 0; at < 1201; at++) await put(`e${at}`);
    await clock.advance(5 * hour);
    let batches = 0;
    beforeWrite = async () => void (batches += 1);
    start();
    await waitUntil(async () => {
      await clock.advance(1);
      return count() === 0;
    });
    expect(batches).toBe(3);
  });
});

describe("more Events than may be", () => {
  const names = () => store.page({ group: "", resource: "events" }, {}).entries.map(({ key }) => key.name);

  test("the oldest go at once, whatever their time, and whoever watches is told", async () => {
    start();
    const gone: string[] = [];
    store.subscribe({ group: "", resource: "events" }, store.revision, (events) => {
      for (const { type, entry } of events) if (type === "delete") gone.push(entry.key.name);
    });
    await put("first");
    for (let at = 0; at < maxEvents - 1; at++) await put(`e${at}`);
    await clock.advance(1000);
    expect(gone).toEqual([]);
    // No longer the oldest.
    await put("first", { count: 2 });
    for (let at = 0; at < 100; at++) await put(`late${at}`);
    await waitUntil(async () => {
      await clock.advance(1);
      return count() <= maxEvents;
    });
    const left = names();
    expect(left).toEqual(expect.arrayContaining(["first", "late0", "late99"]));
    expect(gone).toEqual(Array.from({ length: gone.length }, (_, at) => `e${at}`));
    // One in a hundred more than needed, so that the next one is not a removal again.
    expect(gone).toHaveLength(100 + maxEvents / 100);
  });

  test("that are there at the start go batch by batch, unread", async () => {
    for (let at = 0; at < maxEvents + 1201; at++) {
      await put(`e${at}`);
      if (at % 500 === 0) await clock.advance(1000);
    }
    start();
    await waitUntil(async () => {
      await clock.advance(1);
      return count() <= maxEvents;
    });
    expect(names()).not.toContain("e0");
    expect(names()).toContain(`e${maxEvents + 1200}`);
  });
});

describe("a store that fails", () => {
  test("is asked again later, and nothing is lost", async () => {
    let failures = 2;
    beforeWrite = async () => {
      if (failures-- > 0) throw new Error("the disk is full");
    };
    start();
    await put("e");
    await clock.advance(hour);
    await waitUntil(() => warnings.length === 1);
    await clock.advance(4999);
    expect(warnings).toHaveLength(1);
    await waitUntil(async () => {
      await clock.advance(1000);
      return !there("e");
    });
    expect(warnings).toHaveLength(2);
  });
});

describe("the close", () => {
  test("waits for a removal that has begun, and begins none after it", async () => {
    const gate = deferred<void>();
    let begun = 0;
    beforeWrite = () => {
      begun += 1;
      return gate.promise;
    };
    start();
    await put("e");
    await clock.advance(hour);
    await waitUntil(() => begun === 1);
    let isClosed = false;
    const closing = ttl.close().then(() => (isClosed = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isClosed).toBe(false);
    gate.resolve();
    await closing;
    await put("late");
    await clock.advance(2 * hour);
    expect(begun).toBe(1);
  });
});
