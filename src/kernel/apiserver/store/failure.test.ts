import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { deferred, FakeClock } from "#lib/base/index.ts";
import type { Failpoints } from "./committer.ts";
import { TablesLostError } from "./errors.ts";
import { openLmdb } from "./lmdb-disk.ts";
import { memoryStore } from "./open.ts";
import { items, keyOf, objectOf, putItem, removeItem, states } from "./testing/store-objects.ts";

const systemError = (code: string): Error => Object.assign(new Error(`${code}: injected`), { code });

/** A disk that fails when told to. */
function faultyStore() {
  const fault: { error: Error | undefined; commits: number } = { error: undefined, commits: 0 };
  const fatal: Error[] = [];
  const clock = new FakeClock();
  const fail = (): void => {
    if (fault.error !== undefined) throw fault.error;
  };
  const failpoints: Failpoints = {
    beforeCommit() {
      fault.commits++;
      fail();
    },
    beforeProbe: fail,
    beforeCompaction: fail,
  };
  const store = memoryStore({ clock, failpoints, onFatal: (error) => void fatal.push(error) });
  return { store, fault, fatal, clock };
}

describe("a rejected commit", () => {
  test("fails every write in flight and in the queue, and gives their revisions back", async () => {
    const hold = deferred<void>();
    const store = memoryStore({ failpoints: { beforeCommit: () => hold.promise } });
    const inFlight = [putItem(store, "a"), putItem(store, "b")];
    await new Promise((resolve) => setImmediate(resolve));
    const queued = [putItem(store, "c"), store.write((transaction) => transaction.head(keyOf("a")))];
    hold.reject(systemError("EIO"));
    const outcomes = await Promise.allSettled([...inFlight, ...queued]);
    expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => "rejected"));
    expect(outcomes[0]).toMatchObject({
      reason: { code: "store-commit-failed", message: "storage commit failed: EIO: injected" },
    });
    expect([store.revision, store.page(items, {}).entries]).toEqual([0, []]);
    await store.close();
  });

  test("leaves no trace of updates, deletes and creations in what readers and later writes see", async () => {
    const { store, fault, clock } = faultyStore();
    await putItem(store, "kept", 1);
    await putItem(store, "doomed", 1);
    fault.error = systemError("ENOSPC");
    const writes = [putItem(store, "kept", 2), removeItem(store, "doomed"), putItem(store, "new", 1)];
    await Promise.allSettled(writes);
    fault.error = undefined;
    await clock.advance(5_000);
    const heads = await store.write((transaction) =>
      ["kept", "doomed", "new"].map((name) => transaction.head(keyOf(name))?.revision),
    );
    expect(heads).toEqual([1, 2, undefined]);
    expect(states(store.page(items, {}).entries)).toEqual(["doomed=1@2", "kept=1@1"]);
    expect((await putItem(store, "next")).revision).toBe(3);
    await store.close();
  });

  test("tells no subscriber", async () => {
    const { store, fault } = faultyStore();
    const told: unknown[] = [];
    store.subscribe(items, 0, (events) => told.push(events));
    fault.error = systemError("ENOSPC");
    await expect(putItem(store, "a")).rejects.toThrow("storage commit failed");
    expect(told).toEqual([]);
    expect(store.stats()).toMatchObject({ failedCommits: 1, commits: 0 });
    await store.close();
  });

  test("of system records changes nothing", async () => {
    const { store, fault, clock } = faultyStore();
    await store.system.put("key", Buffer.from("old"));
    fault.error = systemError("ENOSPC");
    await expect(store.system.put("key", Buffer.from("new"))).rejects.toThrow("storage commit failed");
    fault.error = undefined;
    await clock.advance(5_000);
    expect(store.system.get("key")?.toString()).toBe("old");
    await store.close();
  });
});

describe("a full disk", () => {
  test("makes the store read-only until a probe succeeds, one each 5 seconds", async () => {
    const { store, fault, fatal, clock } = faultyStore();
    await putItem(store, "a", 1);
    fault.error = systemError("ENOSPC");
    await expect(putItem(store, "a", 2)).rejects.toMatchObject({ code: "store-commit-failed" });
    expect(store.failure).toMatchObject({ code: "store-full" });
    const { commits } = fault;
    await expect(putItem(store, "a", 3)).rejects.toMatchObject({ code: "store-full" });
    await expect(store.system.put("key", Buffer.from("x"))).rejects.toMatchObject({ code: "store-full" });
    expect([fault.commits, states(store.page(items, {}).entries)]).toEqual([commits, ["a=1@1"]]);
    await clock.advance(12_000);
    expect(store.failure).toMatchObject({ code: "store-full" });
    fault.error = undefined;
    await clock.advance(2_999);
    expect(store.failure).toBeDefined();
    await clock.advance(1);
    expect([store.failure, fatal]).toEqual([undefined, []]);
    expect((await putItem(store, "a", 4)).revision).toBe(2);
    await store.close();
  });

  test.each([["ENOSPC"], ["EDQUOT"], ["EFBIG"]])("is recognised by %s", async (code) => {
    const { store, fault } = faultyStore();
    fault.error = systemError(code);
    await expect(putItem(store, "a")).rejects.toThrow();
    expect(store.failure).toMatchObject({ code: "store-full" });
    await store.close();
  });

  test("is recognised by the database's own numbers and words", async () => {
    for (const error of [
      Object.assign(new Error("full"), { code: -30792 }),
      Object.assign(new Error("No space left on device: Attempting to write page"), { code: 28 }),
    ]) {
      const { store, fault } = faultyStore();
      fault.error = error;
      await expect(putItem(store, "a")).rejects.toThrow();
      expect(store.failure).toMatchObject({ code: "store-full" });
      await store.close();
    }
  });

  test("that turns out to be a broken one while probing is fatal", async () => {
    const { store, fault, fatal, clock } = faultyStore();
    fault.error = systemError("ENOSPC");
    await expect(putItem(store, "a")).rejects.toThrow();
    fault.error = systemError("EIO");
    await clock.advance(5_000);
    expect(fatal).toMatchObject([{ code: "store-failed" }]);
    await store.close();
  });
});

describe("a broken disk", () => {
  test("is reported once, and nothing is written any more", async () => {
    const { store, fault, fatal, clock } = faultyStore();
    fault.error = systemError("EIO");
    await expect(putItem(store, "a")).rejects.toThrow("storage commit failed");
    fault.error = undefined;
    await clock.advance(60_000);
    await expect(putItem(store, "a")).rejects.toMatchObject({ code: "store-failed" });
    expect(fatal).toMatchObject([{ code: "store-failed", hint: expect.stringContaining("then restart") }]);
    expect(fault.commits).toBe(1);
    await store.close();
  });

  test.each([
    ["by a compaction", systemError("EIO")],
    ["when the database cannot be opened again, be it for want of space", new TablesLostError(systemError("ENOSPC"))],
  ])("found %s is fatal too, and what was retained stays", async (_, error) => {
    const clock = new FakeClock();
    const fatal: Error[] = [];
    const store = memoryStore({
      clock,
      retention: { minEvents: 0 },
      onFatal: (error) => void fatal.push(error),
      failpoints: {
        beforeCompaction() {
          throw error;
        },
      },
    });
    await store.write((transaction) => transaction.put(keyOf("a"), objectOf(keyOf("a"))));
    await clock.advance(6 * 60_000);
    await expect.poll(() => fatal.length).toBe(1);
    expect([store.compactedRevision, store.stats().ringEvents]).toEqual([0, 1]);
    await store.close();
  });
});

test("a database whose file has gone while it was closed for a moment is lost", async () => {
  const directory = await mkdtemp(join(tmpdir(), "slipway-store-"));
  const path = join(directory, "store.mdb");
  const disk = await openLmdb(path, "2026-01-01T00:00:00Z");
  try {
    await rename(path, `${path}.moved`);
    await mkdir(path);
    await expect(disk.releasePages()).rejects.toThrow(TablesLostError);
  } finally {
    await disk.abandon();
    await rm(directory, { recursive: true });
  }
});
