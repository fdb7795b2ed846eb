import { expect, test } from "vitest";
import { FakeClock, isJsonObject } from "#lib/base/index.ts";
import type { StoreOptions } from "./open.ts";
import type { Entry, Store, StoreEvent } from "./store.ts";
import { items, keyOf, names, objectOf, pods, putItem, removeItem, states } from "./testing/store-objects.ts";

/** How a suite gets an empty store; it is closed and its traces are removed when `use` is done. */
export type WithStore = (use: (store: Store) => Promise<void>, options?: StoreOptions) => Promise<void>;

/** What every Store does, whatever it stands on. */
export function storeContract(withStore: WithStore): void {
  test("an object that was written is read back, with its resourceVersion in bytes and object alike", () =>
    withStore(async (store) => {
      const entry = await putItem(store, "a", { text: 'é "metadata":{ ' });
      expect(entry.revision).toBe(1);
      expect(store.get(keyOf("a"))).toBe(entry);
      expect(JSON.parse(entry.bytes.toString("utf8"))).toEqual(entry.object());
      expect(entry.object()["metadata"]).toMatchObject({ name: "a", resourceVersion: "1" });
      expect(Object.isFrozen(entry.object()["metadata"])).toBe(true);
    }));

  test("the parsed object is what JSON makes of it, undefined members and odd numbers included", () =>
    withStore(async (store) => {
      const key = keyOf("odd");
      const object = { ...objectOf(key), spec: { gone: undefined, zero: -0, not: Number.NaN, kept: null } };
      const entry = await store.write((transaction) => transaction.put(key, object));
      expect(entry.object()["spec"]).toStrictEqual({ zero: 0, not: null, kept: null });
    }));

  test("a resourceVersion in the given object is replaced, wherever metadata stands in it", () =>
    withStore(async (store) => {
      const key = keyOf("late");
      const { metadata, ...rest } = objectOf(key, 1, { resourceVersion: "99" });
      const object = { spec: rest["spec"], status: { metadata: { trap: true } }, ...rest, metadata };
      const entry = await store.write((transaction) => transaction.put(key, object));
      const parsed: unknown = JSON.parse(entry.bytes.toString("utf8"));
      expect(parsed).toEqual({
        ...object,
        metadata: { ...(isJsonObject(metadata) ? metadata : {}), resourceVersion: "1" },
      });
    }));

  test("bytes of a part that stays are right, also after a write that was taken back", () =>
    withStore(async (store) => {
      const key = keyOf("parts");
      const spec = { text: "größer ☃ 😀", metadata: { trap: true } };
      await store.write((transaction) => transaction.put(key, { ...objectOf(key), spec, status: { step: 0 } }));
      const stepTo = (step: number, fails = false) =>
        store.write((transaction) => {
          const entry = transaction.put(key, { ...transaction.head(key)?.object(), status: { step } });
          if (fails) throw new Error("on purpose");
          return entry;
        });
      for (const step of [1, 2, 3]) {
        await expect(stepTo(9, true)).rejects.toThrow("on purpose");
        // The second is made from the first, which is still on its way to the disk.
        const [, entry] = await Promise.all([stepTo(step), stepTo(step + 10)]);
        expect(entry.object()).toMatchObject({ spec, status: { step: step + 10 } });
        expect(JSON.parse(entry.bytes.toString("utf8"))).toEqual(entry.object());
      }
    }));

  test("an entry says what its writer said had pruned it", () =>
    withStore(async (store) => {
      const key = keyOf("pruned");
      const pruner = {};
      const put = (prunedBy?: object) =>
        store.write((transaction) =>
          transaction.put(key, objectOf(key), ...(prunedBy === undefined ? [] : [prunedBy])),
        );
      expect((await put(pruner)).prunedBy).toBe(pruner);
      expect((await put()).prunedBy).toBeUndefined();
    }));

  test("names that objects inherit are ordinary names of labels and members", () =>
    withStore(async (store) => {
      const key = keyOf("proto");
      const labels = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}') as Record<string, string>;
      const entry = await store.write((transaction) => transaction.put(key, objectOf(key, 1, { labels })));
      expect(Object.keys(entry.labels)).toEqual(["__proto__", "constructor", "toString"]);
      expect(entry.bytes.toString("utf8")).toContain('"labels":{"__proto__":"a"');
    }));

  test("a delete is an event with the last state under its own revision", () =>
    withStore(async (store) => {
      await putItem(store, "a", 1);
      const events: StoreEvent[] = [];
      store.subscribe(items, 1, (batch) => events.push(...batch));
      const last = await removeItem(store, "a");
      expect(store.get(keyOf("a"))).toBeUndefined();
      expect(events.map(({ type, revision }) => [type, revision])).toEqual([["delete", 2]]);
      expect(states([last])).toEqual(["a=1@2"]);
      expect(events[0]?.previous?.revision).toBe(1);
    }));

  test("an object keeps its create revision until it is deleted, and gets a new one when it comes again", () =>
    withStore(async (store) => {
      await putItem(store, "a", 1);
      expect((await putItem(store, "a", 2)).createRevision).toBe(1);
      await removeItem(store, "a");
      expect((await putItem(store, "a", 3)).createRevision).toBe(4);
    }));

  test("writes that were begun see each other before they are durable, readers do not", () =>
    withStore(async (store) => {
      const first = putItem(store, "a", 1);
      const seen = await store.write((transaction) => {
        expect(store.get(keyOf("a"))).toBeUndefined();
        return transaction.head(keyOf("a"))?.revision;
      });
      expect(seen).toBe(1);
      expect(store.get(keyOf("a"))).toBe(await first);
    }));

  test("an object may be created and deleted again and again before anything is durable", () =>
    withStore(async (store) => {
      const rounds = [1, 2, 3].flatMap((value) => [putItem(store, "a", value), removeItem(store, "a")]);
      await Promise.all(rounds);
      expect(store.get(keyOf("a"))).toBeUndefined();
      expect(store.count(items)).toBe(0);
      await putItem(store, "a", 4);
      expect(states(store.page(items, {}).entries)).toEqual(["a=4@7"]);
    }));

  test("each of an object's lives is published in its turn, even when the next ones wait already", () =>
    withStore(
      async (store) => {
        const seen: unknown[] = [];
        store.subscribe(items, 0, ([event]) => seen.push([event?.type, store.get(keyOf("a"))?.revision]));
        await Promise.all([putItem(store, "a"), removeItem(store, "a"), putItem(store, "a"), removeItem(store, "a")]);
        expect(seen).toEqual([
          ["add", 1],
          ["delete", undefined],
          ["add", 3],
          ["delete", undefined],
        ]);
      },
      { limits: { batchWrites: 1 } },
    ));

  test("work that throws has written nothing, and its promise rejects with what it threw", () =>
    withStore(async (store) => {
      await putItem(store, "kept", 1);
      const failure = new Error("no");
      const write = store.write((transaction) => {
        transaction.put(keyOf("kept"), objectOf(keyOf("kept"), 2));
        transaction.put(keyOf("new"), objectOf(keyOf("new")));
        transaction.remove(keyOf("kept"));
        throw failure;
      });
      await expect(write).rejects.toBe(failure);
      expect(await store.write((transaction) => transaction.head(keyOf("new")))).toBeUndefined();
      expect(states(store.page(items, {}).entries)).toEqual(["kept=1@1"]);
      expect((await putItem(store, "next")).revision).toBe(2);
    }));

  test("an object that cannot be stored leaves nothing behind", () =>
    withStore(async (store) => {
      const endless = keyOf("n".repeat(2_000));
      await expect(putItem(store, endless.name)).rejects.toThrow("exceeds");
      await expect(store.write((transaction) => transaction.put(keyOf("a"), { kind: "Item" }))).rejects.toThrow(
        "metadata",
      );
      expect([store.count(items), store.collections(), store.revision]).toEqual([0, [], 0]);
      expect((await putItem(store, "a")).revision).toBe(1);
    }));

  test("a queue longer than a transaction may be is committed in several, one caller's writes together", () =>
    withStore(
      async (store) => {
        const batches: number[] = [];
        store.subscribe(items, 0, (events) => batches.push(events.length));
        const several = store.write((transaction) => {
          for (const name of ["a", "b", "c"]) transaction.put(keyOf(name), objectOf(keyOf(name)));
        });
        await Promise.all([several, ...["d", "e", "f"].map((name) => putItem(store, name))]);
        expect(batches).toEqual([3, 2, 1]);
      },
      { limits: { batchWrites: 2 } },
    ));

  test("work must be synchronous, must not write within other work, and must not outlive its call", () =>
    withStore(async (store) => {
      await expect(store.write(() => Promise.resolve())).rejects.toThrow("must be synchronous");
      const inner: Promise<unknown>[] = [];
      await store.write(() => inner.push(putItem(store, "inner").catch((thrown: Error) => thrown.message)));
      expect(await Promise.all(inner)).toEqual([expect.stringContaining("inside another")]);
      const escaped = await store.write((transaction) => transaction);
      expect(() => escaped.head(keyOf("a"))).toThrow("after its critical section");
    }));

  test("several objects of one write have consecutive revisions and arrive as one batch", () =>
    withStore(async (store) => {
      const batches: number[][] = [];
      store.subscribe(items, 0, (events) => batches.push(events.map(({ revision }) => revision)));
      await store.write((transaction) => {
        for (const name of ["a", "b", "c"]) transaction.put(keyOf(name), objectOf(keyOf(name)));
      });
      expect(batches).toEqual([[1, 2, 3]]);
    }));

  test("a page is sorted by namespace and name, and continues strictly after where it stopped", () =>
    withStore(async (store) => {
      for (const [name, namespace] of [
        ["b", "two"],
        ["a", "two"],
        ["z", "one"],
        ["c", "two"],
        ["a", "two-b"],
      ]) {
        await putItem(store, name ?? "", 1, namespace);
      }
      const first = store.page(items, { limit: 2 });
      expect([names(first.entries), first.remaining]).toEqual([["z", "a"], 3]);
      expect(first.next).toEqual({ namespace: "two", name: "a" });
      const rest = store.page(items, { limit: 10, ...(first.next === undefined ? {} : { after: first.next }) });
      expect([names(rest.entries), rest.remaining, rest.next]).toEqual([["b", "c", "a"], 0, undefined]);
      const two = store.page(items, { namespace: "two", limit: 2 });
      expect([names(two.entries), two.remaining, two.next?.name]).toEqual([["a", "b"], 1, "b"]);
      expect([store.count(items), store.count(items, "two"), store.count(items, "none")]).toEqual([5, 3, 0]);
    }));

  test("a cluster-scoped collection lists like any other", () =>
    withStore(async (store) => {
      const nodes = { group: "", resource: "nodes" };
      for (const name of ["b", "a"]) {
        const key = keyOf(name, "", nodes);
        await store.write((transaction) => transaction.put(key, objectOf(key)));
      }
      expect(names(store.page(nodes, {}).entries)).toEqual(["a", "b"]);
      expect(names(store.page(nodes, { namespace: "" }).entries)).toEqual(["a", "b"]);
      expect(store.collections()).toEqual([nodes]);
    }));

  test("a page at an earlier revision shows what was there then", () =>
    withStore(async (store) => {
      await putItem(store, "a", 1);
      await putItem(store, "b", 1);
      await putItem(store, "a", 2);
      await removeItem(store, "b");
      await putItem(store, "c", 1);
      const at = (revision: number) => states(store.page(items, { revision }).entries);
      expect(at(0)).toEqual([]);
      expect(at(2)).toEqual(["a=1@1", "b=1@2"]);
      expect(at(3)).toEqual(["a=2@3", "b=1@2"]);
      expect(at(4)).toEqual(["a=2@3"]);
      expect(at(5)).toEqual(["a=2@3", "c=1@5"]);
      expect([0, 2, 5].map((revision) => store.eventsAfter(items, revision))).toEqual([5, 3, 0]);
      const missed = (after: number, limit: number) => store.missed(items, after, limit).map((event) => event.revision);
      expect([missed(0, 9), missed(2, 2), missed(5, 1)]).toEqual([[1, 2, 3, 4, 5], [3, 4], []]);
      expect(store.page(items, { revision: 2, limit: 1 })).toMatchObject({ remaining: 1, next: { name: "a" } });
      expect(() => store.page(items, { revision: 6 })).toThrow("not reached");
    }));

  test("objects are found by uid and by owner, and no longer once they are gone or let go", () =>
    withStore(async (store) => {
      const [owner, owned] = [keyOf("owner"), keyOf("owned")];
      const reference = { apiVersion: "v1", kind: "Item", name: "owner", uid: "uid-default-owner" };
      await store.write((transaction) => {
        transaction.put(owner, objectOf(owner));
        transaction.put(owned, objectOf(owned, 1, { ownerReferences: [reference] }));
      });
      expect(store.byUid("uid-default-owner")?.key).toEqual(owner);
      expect(names(store.dependants("uid-default-owner"))).toEqual(["owned"]);
      await store.write((transaction) => transaction.put(owned, objectOf(owned, 2)));
      expect(store.dependants("uid-default-owner")).toEqual([]);
      await removeItem(store, "owner");
      expect(store.byUid("uid-default-owner")).toBeUndefined();
    }));

  test("an index of one's own is built when asked and follows every change", () =>
    withStore(
      async (store) => {
        await putItem(store, "a", "red");
        await putItem(store, "b", "blue");
        expect(names(store.indexed("colour", '"red"'))).toEqual(["a"]);
        await putItem(store, "b", "red");
        await removeItem(store, "a");
        const other = keyOf("pod", "default", pods);
        await store.write((transaction) => transaction.put(other, objectOf(other, "red")));
        expect(names(store.indexed("colour", '"red"'))).toEqual(["b"]);
        expect(store.indexed("colour", '"blue"')).toEqual([]);
        expect(() => store.indexed("shape", "round")).toThrow('no index "shape"');
      },
      {
        indexes: [
          {
            name: "colour",
            collection: items,
            values: ({ spec }) => (isJsonObject(spec) ? [JSON.stringify(spec["value"])] : []),
          },
        ],
      },
    ));

  test("a subscription begins with the retained events after its revision and goes on with live ones", () =>
    withStore(async (store) => {
      await putItem(store, "a", 1);
      await putItem(store, "a", 2);
      const seen: number[] = [];
      const subscription = store.subscribe(items, 1, (events) => seen.push(...events.map((event) => event.revision)));
      expect(seen).toEqual([2]);
      await putItem(store, "b");
      const pod = keyOf("p", "default", pods);
      await store.write((transaction) => transaction.put(pod, objectOf(pod)));
      await putItem(store, "c");
      expect(seen).toEqual([2, 3, 5]);
      subscription.close();
      await putItem(store, "d");
      expect(seen).toEqual([2, 3, 5]);
    }));

  test("a subscription from a revision to come gets only what lies after it", () =>
    withStore(async (store) => {
      const seen: number[] = [];
      store.subscribe(items, 2, (events) => seen.push(...events.map((event) => event.revision)));
      await Promise.all(["a", "b", "c", "d"].map((name) => putItem(store, name)));
      expect(seen).toEqual([3, 4]);
    }));

  test("who subscribes while being told gets every event once", () =>
    withStore(async (store) => {
      const [outer, inner]: [number[], number[]] = [[], []];
      let isInner = false;
      store.subscribe(items, 0, (events) => {
        outer.push(...events.map((event) => event.revision));
        if (isInner) return;
        isInner = true;
        store.subscribe(items, 0, (more) => inner.push(...more.map((event) => event.revision)));
      });
      await putItem(store, "a");
      await putItem(store, "b");
      expect([outer, inner]).toEqual([
        [1, 2],
        [1, 2],
      ]);
    }));

  test("a listener may write, and a listener that throws harms nobody", () =>
    withStore(async (store) => {
      const written: Promise<unknown>[] = [];
      store.subscribe(items, 0, () => {
        throw new Error("a listener's bug");
      });
      store.subscribe(items, 0, (events) => {
        if (events[0]?.entry.key.name === "a") written.push(putItem(store, "b"));
      });
      await putItem(store, "a");
      await Promise.all(written);
      expect(store.revision).toBe(2);
    }));

  test("who listens to everything hears every collection in order of revision", () =>
    withStore(async (store) => {
      const seen: string[] = [];
      const subscription = store.subscribeAll((events) =>
        seen.push(...events.map(({ entry, revision }) => `${entry.key.resource}@${revision}`)),
      );
      const pod = keyOf("p", "default", pods);
      await Promise.all([
        putItem(store, "a"),
        store.write((transaction) => transaction.put(pod, objectOf(pod))),
        putItem(store, "b"),
      ]);
      subscription.close();
      await putItem(store, "c");
      expect(seen).toEqual(["items@1", "pods@2", "items@3"]);
    }));

  test("one can wait for a revision, and stop waiting", () =>
    withStore(async (store) => {
      const reached = store.reached(2, new AbortController().signal);
      const stopper = new AbortController();
      const never = store.reached(99, stopper.signal);
      await putItem(store, "a");
      await putItem(store, "b");
      await reached;
      await store.reached(1, new AbortController().signal);
      stopper.abort(new Error("enough"));
      await expect(never).rejects.toThrow("enough");
      await expect(store.reached(99, stopper.signal)).rejects.toThrow("enough");
    }));

  test("system records are kept by key, outside of all collections and revisions", () =>
    withStore(async (store) => {
      await store.system.put("token/1", Buffer.from("hash"));
      expect(store.system.get("token/1")?.toString()).toBe("hash");
      await store.system.remove("token/1");
      expect(store.system.get("token/1")).toBeUndefined();
      expect([store.revision, store.collections()]).toEqual([0, []]);
      await expect(store.system.put("", Buffer.from("x"))).rejects.toThrow("key");
    }));

  test("events are compacted when they are 5 minutes old, but some stay", async () => {
    const clock = new FakeClock();
    await withStore(
      async (store) => {
        for (let value = 1; value <= 6; value++) await putItem(store, "a", value);
        await clock.advance(4 * 60_000);
        await putItem(store, "a", 7);
        expect(store.compactedRevision).toBe(0);
        await clock.advance(90_000);
        await expect.poll(() => store.compactedRevision).toBe(5);
        expect(store.missed(items, 5, 9)).toHaveLength(2);
        expect(() => store.missed(items, 4, 9)).toThrow(expect.objectContaining({ code: "revision-compacted" }));
        expect(store.stats()).toMatchObject({ ringEvents: 2, forcedCompactions: 0, compactions: 1 });
        expect(() => store.page(items, { revision: 4 })).toThrow("no longer kept");
        expect(() => store.subscribe(items, 4, () => undefined)).toThrow("no longer kept");
        expect(states(store.page(items, { revision: 5 }).entries)).toEqual(["a=5@5"]);
        expect(states(store.page(items, {}).entries)).toEqual(["a=7@7"]);
      },
      { clock, retention: { minEvents: 2 } },
    );
  });

  test("a clock that is set back or forth does not change what is compacted", async () => {
    const clock = new FakeClock();
    await withStore(
      async (store) => {
        await putItem(store, "a");
        clock.jump(clock.now() + 3_600_000);
        await clock.advance(0);
        expect(store.compactedRevision).toBe(0);
      },
      { clock, retention: { minEvents: 0 } },
    );
  });

  test.each([{ maxEvents: 10 }, { maxBytes: 2000 }])(
    "too many events are compacted at once, which is counted: %j",
    (retention) =>
      withStore(
        async (store) => {
          for (let value = 1; value <= 12; value++) await putItem(store, "a", value);
          await expect.poll(() => store.stats().ringEvents).toBeLessThanOrEqual(10);
          expect(store.stats().forcedCompactions).toBeGreaterThan(0);
          expect(store.compactedRevision).toBeGreaterThan(0);
          expect(states(store.page(items, {}).entries)).toEqual(["a=12@12"]);
        },
        { retention },
      ),
  );

  test("numbers for the metrics follow what happens", () =>
    withStore(async (store) => {
      await Promise.all([putItem(store, "a"), putItem(store, "b")]);
      const stats = store.stats();
      expect(stats).toMatchObject({ revision: 2, objects: 2, ringEvents: 2, commits: 1, writes: 2, lastBatch: 2 });
      expect(stats.commitSeconds.at(-1)).toEqual({ upTo: Number.POSITIVE_INFINITY, count: 1 });
      expect(stats.bytes).toBe(store.page(items, {}).entries.reduce((sum, { bytes }) => sum + bytes.length, 0));
    }));

  test("the cache of parsed objects stays within its bound and gives back equal objects", () =>
    withStore(
      async (store) => {
        await Promise.all(Array.from({ length: 50 }, (_, index) => putItem(store, `i${index}`, "x".repeat(100))));
        const objects = store.page(items, {}).entries.map((entry) => entry.object());
        expect(store.stats().cacheBytes).toBeLessThanOrEqual(5_000);
        expect(store.page(items, {}).entries.map((entry) => entry.object())).toEqual(objects);
        const [first] = store.page(items, { limit: 1 }).entries;
        expect(first?.object()).toBe(first?.object());
      },
      { cacheBytes: 5_000 },
    ));

  test("what is gone leaves the cache: when it is removed, and when its event is compacted", () => {
    const clock = new FakeClock();
    return withStore(
      async (store) => {
        const cached = () => store.stats().cacheBytes;
        const told: Entry[] = [];
        store.subscribe(items, 0, (events) => {
          for (const { entry } of events) if (entry.object() !== undefined) told.push(entry);
        });
        await putItem(store, "a", 1);
        await putItem(store, "a", 2);
        await removeItem(store, "a");
        expect(told).toHaveLength(3);
        await expect.poll(cached).toBe(0);
        // Somebody was slow.
        for (const entry of told) entry.object();
        expect(cached()).toBeGreaterThan(0);
        await clock.advance(5.5 * 60_000);
        await expect.poll(() => store.compactedRevision).toBe(3);
        expect(cached()).toBe(0);
      },
      { clock, retention: { minEvents: 0 } },
    );
  });

  test("writes are refused when too much is waiting, and taken again later", () =>
    withStore(
      async (store) => {
        const all = Array.from({ length: 4 }, (_, index) => putItem(store, `i${index}`, "x".repeat(400)));
        const outcomes = await Promise.allSettled(all);
        expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
        expect(outcomes[2]).toMatchObject({ reason: { code: "store-busy" } });
        await putItem(store, "later");
      },
      { limits: { queueBytes: 1_000 } },
    ));

  test("closing answers what was begun, refuses what comes after, and may be asked twice", () =>
    withStore(async (store) => {
      const begun = putItem(store, "a");
      const closed = store.close();
      await expect(putItem(store, "b")).rejects.toMatchObject({ code: "store-closed" });
      await expect(begun).resolves.toMatchObject({ revision: 1 });
      await Promise.all([closed, store.close()]);
    }));
}
