import { copyFile, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { deferred } from "#lib/base/index.ts";
import { type DurableStore, openStore, type StoreOptions } from "./open.ts";
import type { StoreEvent } from "./store.ts";
import { items, keyOf, objectOf, putItem, removeItem, states, withDirectory } from "./testing/store-objects.ts";

async function withStore(
  use: (store: DurableStore, directory: string) => Promise<void>,
  options: StoreOptions = {},
): Promise<void> {
  await withDirectory(async (directory) => {
    const store = await openStore(directory, options);
    try {
      await use(store, directory);
    } finally {
      await store.close();
    }
  });
}

/** What a process would find that started after this one was killed just now. */
async function afterKill<T>(directory: string, look: (store: DurableStore) => T): Promise<T> {
  const copy = join(directory, `copy-${Math.floor(performance.now() * 1_000)}`);
  await mkdir(copy);
  for (const name of await readdir(directory)) {
    if (/^store\.(mdb|redo-.)$/.test(name)) await copyFile(join(directory, name), join(copy, name));
  }
  const store = await openStore(copy);
  try {
    return look(store);
  } finally {
    await store.close();
  }
}

describe("invariant", () => {
  test("S1 an answered write is there after a kill", () =>
    withStore(async (store, directory) => {
      await Promise.all([putItem(store, "a", 1), putItem(store, "b", 1)]);
      await putItem(store, "a", 2);
      expect(await afterKill(directory, (found) => states(found.page(items, {}).entries))).toEqual(["a=2@3", "b=1@2"]);
    }));

  test("S2 nothing shows a write before it is durable: no read, list, index, event or waiting reader", async () => {
    const hold = deferred<void>();
    const isHeld = deferred<void>();
    const beforeCommit = (): Promise<void> => {
      isHeld.resolve();
      return hold.promise;
    };
    await withStore(
      async (store) => {
        const seen: StoreEvent[] = [];
        store.subscribe(items, 0, (events) => seen.push(...events));
        store.subscribeAll((events) => seen.push(...events));
        let isReached = false;
        const reached = store.reached(1, new AbortController().signal).then(() => (isReached = true));
        const write = putItem(store, "a");
        await isHeld.promise;
        expect([store.revision, store.get(keyOf("a")), store.byUid("uid-default-a")]).toEqual([
          0,
          undefined,
          undefined,
        ]);
        expect([store.page(items, {}).entries, store.count(items), seen, isReached]).toEqual([[], 0, [], false]);
        hold.resolve();
        await Promise.all([write, reached]);
        expect(seen).toHaveLength(2);
      },
      { failpoints: { beforeCommit } },
    );
  });

  test("S2 a reader's answer waits for the writes it has seen", async () => {
    const hold = deferred<void>();
    await withStore(
      async (store) => {
        const order: string[] = [];
        const write = putItem(store, "a").then(() => order.push("write"));
        const read = store.write((transaction) => transaction.head(keyOf("a"))).then(() => order.push("read"));
        const other = store.write((transaction) => transaction.head(keyOf("b"))).then(() => order.push("other"));
        await other;
        expect(order).toEqual(["other"]);
        hold.resolve();
        await Promise.all([write, read]);
        expect(order).toEqual(["other", "write", "read"]);
      },
      { failpoints: { beforeCommit: () => hold.promise } },
    );
  });

  test("S3 revisions go on where they stopped when the directory is opened again", () =>
    withDirectory(async (directory) => {
      const revisions: number[] = [];
      for (let round = 0; round < 3; round++) {
        const store = await openStore(directory);
        revisions.push((await putItem(store, "a", round)).revision, (await removeItem(store, "a")).revision);
        await store.close();
      }
      expect(revisions).toEqual([1, 2, 3, 4, 5, 6]);
    }));

  test("S4 a watch from any retained revision gets each later change once, in order, also after a restart", () =>
    withDirectory(async (directory) => {
      const first = await openStore(directory);
      await Promise.all(Array.from({ length: 20 }, (_, index) => putItem(first, `i${index % 5}`, index)));
      await first.close();
      const store = await openStore(directory);
      for (let from = 0; from <= 20; from++) {
        const seen: number[] = [];
        const subscription = store.subscribe(items, from, (events) => seen.push(...events.map((e) => e.revision)));
        expect(seen).toEqual(Array.from({ length: 20 - from }, (_, index) => from + 1 + index));
        subscription.close();
      }
      const live: number[] = [];
      store.subscribe(items, 18, (events) => live.push(...events.map((event) => event.revision)));
      await Promise.all([putItem(store, "x"), putItem(store, "y")]);
      expect(live).toEqual([19, 20, 21, 22]);
      await store.close();
    }));

  test("S5 a list and the watch from its revision give the state", () =>
    withStore(async (store) => {
      await Promise.all(Array.from({ length: 10 }, (_, index) => putItem(store, `i${index}`, 0)));
      const list = store.page(items, {});
      const state = new Map(list.entries.map((entry) => [entry.key.name, entry.revision]));
      store.subscribe(items, list.revision, (events) => {
        for (const { type, entry } of events) {
          if (type === "delete") state.delete(entry.key.name);
          else state.set(entry.key.name, entry.revision);
        }
      });
      await Promise.all([removeItem(store, "i3"), putItem(store, "i4", 1), putItem(store, "new", 1)]);
      expect(state).toEqual(new Map(store.page(items, {}).entries.map((entry) => [entry.key.name, entry.revision])));
    }));

  test("S6 of two writers that expect the same revision one wins", () =>
    withStore(async (store) => {
      const { revision } = await putItem(store, "a", 0);
      const update = (value: number): Promise<string> =>
        store.write((transaction) => {
          if (transaction.head(keyOf("a"))?.revision !== revision) return "conflict";
          transaction.put(keyOf("a"), objectOf(keyOf("a"), value));
          return "won";
        });
      const outcomes = await Promise.all([update(1), update(2), update(3)]);
      expect(outcomes).toEqual(["won", "conflict", "conflict"]);
      expect(states(store.page(items, {}).entries)).toEqual(["a=1@2"]);
    }));

  test("S7 work that writes nothing changes no revision and makes no event", () =>
    withStore(async (store) => {
      const before = await putItem(store, "a");
      const seen: StoreEvent[] = [];
      store.subscribe(items, before.revision, (events) => seen.push(...events));
      expect(await store.write((transaction) => transaction.head(keyOf("a")))).toBe(before);
      expect([store.revision, seen, store.stats().commits]).toEqual([1, [], 1]);
    }));

  test("S8 all pages of a listing describe its revision while objects come, change and go", () =>
    withStore(async (store) => {
      await Promise.all(Array.from({ length: 9 }, (_, index) => putItem(store, `i${index}`, 0)));
      const { revision } = store;
      const found: string[] = [];
      let page = store.page(items, { revision, limit: 2 });
      for (let round = 0; ; round++) {
        found.push(...states(page.entries));
        expect([page.revision, page.remaining]).toEqual([revision, 9 - found.length]);
        if (page.next === undefined) break;
        await Promise.all([
          putItem(store, `i${8 - round}`, 1),
          putItem(store, `j${round}`, 1),
          removeItem(store, `i${round}`),
        ]);
        page = store.page(items, { revision, limit: 2, after: page.next });
      }
      expect(found).toEqual(Array.from({ length: 9 }, (_, index) => `i${index}=0@${index + 1}`));
    }));

  // Opening proves that they agree. Kills in the middle of a commit: test/crash/store-kill.test.ts.
  test("S9 objects, log and revision agree after a kill between any two commits", () =>
    withDirectory(async (directory) => {
      const found: number[] = [];
      const published: number[] = [];
      const store = await openStore(directory, {
        failpoints: {
          async beforeCommit() {
            published.push(store.revision);
            found.push(await afterKill(directory, (copy) => copy.revision));
          },
        },
      });
      const worker = async (index: number): Promise<void> => {
        for (let value = 0; value < 5; value++) await putItem(store, `w${index}`, value);
        await removeItem(store, `w${index}`);
      };
      await Promise.all(Array.from({ length: 4 }, (_, index) => worker(index)));
      await store.close();
      expect(found).toEqual(published);
      expect(found.length).toBeGreaterThan(5);
    }));

  test("S10 an object cannot change its name, namespace, uid or creation time", () =>
    withStore(async (store) => {
      await putItem(store, "a");
      const attempt = (metadata: Record<string, string>): Promise<unknown> =>
        store.write((transaction) => transaction.put(keyOf("a"), objectOf(keyOf("a"), 2, metadata)));
      await expect(attempt({ name: "b" })).rejects.toThrow("was given an object named");
      await expect(attempt({ namespace: "other" })).rejects.toThrow("was given an object named");
      await expect(attempt({ uid: "other" })).rejects.toThrow("must not change its uid");
      await expect(attempt({ uid: "" })).rejects.toThrow("without uid");
      await expect(attempt({ creationTimestamp: "2027-01-01T00:00:00Z" })).rejects.toThrow("creationTimestamp");
      expect(states(store.page(items, {}).entries)).toEqual(["a=1@1"]);
    }));

  test("S11 an object that is being deleted goes on being deleted", () =>
    withStore(async (store) => {
      const terminating = { deletionTimestamp: "2026-01-02T00:00:00Z", finalizers: ["test/hold"] };
      await store.write((transaction) => transaction.put(keyOf("a"), objectOf(keyOf("a"), 1, terminating)));
      await expect(putItem(store, "a", 2)).rejects.toThrow("must not lose its deletionTimestamp");
    }));

  test("S12 an object with finalizers cannot be removed", () =>
    withStore(async (store) => {
      const held = { finalizers: ["test/hold"] };
      await store.write((transaction) => transaction.put(keyOf("a"), objectOf(keyOf("a"), 1, held)));
      await expect(removeItem(store, "a")).rejects.toThrow("has finalizers");
      const last = await store.write((transaction) =>
        transaction.remove(keyOf("a"), objectOf(keyOf("a"), 1, { finalizers: [] })),
      );
      expect([last.revision, store.get(keyOf("a"))]).toEqual([2, undefined]);
    }));

  test("S13 after a failed commit memory is what a restart would find", async () => {
    const fault: { error?: Error } = {};
    const beforeCommit = (): void => {
      if (fault.error !== undefined) throw fault.error;
    };
    await withStore(
      async (store, directory) => {
        await putItem(store, "a", 1);
        await putItem(store, "b", 1);
        fault.error = new Error("EIO: injected");
        const lost = [putItem(store, "a", 2), removeItem(store, "b"), putItem(store, "c", 1)];
        expect((await Promise.allSettled(lost)).every(({ status }) => status === "rejected")).toBe(true);
        const memory = [store.revision, states(store.page(items, {}).entries)];
        expect(memory).toEqual([2, ["a=1@1", "b=1@2"]]);
        expect(await afterKill(directory, (found) => [found.revision, states(found.page(items, {}).entries)])).toEqual(
          memory,
        );
      },
      { failpoints: { beforeCommit } },
    );
  });
});
