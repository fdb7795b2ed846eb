import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { deferred, FakeClock } from "#lib/base/index.ts";
import { decodeKey, decodeValue } from "./codec.ts";
import { diskContract } from "./disk.contract.ts";
import type { Disk } from "./disk.ts";
import { type LmdbDisk, openLmdb } from "./lmdb-disk.ts";
import { type CheckpointedTables, defaultCheckpointLimits, openRedo, RedoDisk } from "./redo-disk.ts";
import { headBytes } from "./redo-segment.ts";
import { diskBatch, diskWrite, withDirectory } from "./testing/store-objects.ts";

const createdAt = "2026-01-01T00:00:00Z";
const path = (directory: string) => join(directory, "store.mdb");

describe("the tables", () => diskContract((directory) => openLmdb(path(directory), createdAt)));
describe("the redo log in front of them", () =>
  diskContract((directory) => openRedo(directory, new FakeClock(), createdAt)));
describe("the redo log with a checkpoint for nearly every batch", () =>
  diskContract((directory) =>
    openRedo(directory, new FakeClock(), createdAt, { ...defaultCheckpointLimits, segmentBytes: 0 }),
  ));

const objectsOf = (disk: Disk): readonly string[] =>
  Array.from(disk.objects(), ({ key, value }) => `${decodeKey(key).name}@${decodeValue(value).revision}`);

const put = (disk: Disk, name: string, revision: number): Promise<void> =>
  disk.commit(diskBatch([diskWrite(name, revision)]));

/** What a process finds that starts after this one was killed just now: revision and objects. */
async function afterKill(
  directory: string,
  change: (copy: string) => Promise<void> = async () => undefined,
): Promise<unknown> {
  return await withDirectory(async (copy) => {
    await cp(directory, copy, { recursive: true });
    await change(copy);
    const disk = await openRedo(copy, new FakeClock());
    try {
      return [disk.meta.revision, objectsOf(disk)];
    } finally {
      await disk.close();
    }
  });
}

type Checkpoint = LmdbDisk["checkpoint"];

/** The tables of a directory, whose checkpoints are what a test makes of them. */
function tablesWith(tables: LmdbDisk, checkpoint: Checkpoint): CheckpointedTables {
  return {
    get meta() {
      return tables.meta;
    },
    objects: () => tables.objects(),
    records: () => tables.records(),
    system: () => tables.system(),
    checkpoint,
    compact: (compacted) => tables.compact(compacted),
    rewrite: (objects, records) => tables.rewrite(objects, records),
    releasePages: () => tables.releasePages(),
    copyTo: (file) => tables.copyTo(file),
    close: () => tables.close(),
    abandon: () => tables.abandon(),
  };
}

interface Faulty {
  readonly disk: RedoDisk;
  readonly clock: FakeClock;
  readonly told: Error[];
  readonly directory: string;
  /** In place of the next checkpoints with something in them; they go on with the real one when it returns. */
  before: () => Promise<void>;
}

async function withFaulty(use: (faulty: Faulty) => Promise<void>, segmentBytes = 2 ** 20): Promise<void> {
  await withDirectory(async (directory) => {
    const tables = await openLmdb(path(directory), createdAt);
    const clock = new FakeClock();
    const checkpoint: Checkpoint = async (batch, redo) => {
      if (batch.writes.length > 0) await faulty.before();
      await tables.checkpoint(batch, redo);
    };
    const disk = new RedoDisk(directory, tablesWith(tables, checkpoint), clock, {
      ...defaultCheckpointLimits,
      segmentBytes,
    });
    const told: Error[] = [];
    disk.onFailure((cause) => void told.push(cause));
    const faulty: Faulty = { disk, clock, told, directory, before: () => Promise.resolve() };
    try {
      await use(faulty);
    } finally {
      await disk.close();
    }
  });
}

describe("a kill", () => {
  test("before any checkpoint loses nothing", () =>
    withFaulty(async ({ disk, directory }) => {
      for (const revision of [1, 2, 3]) await put(disk, `o${revision}`, revision);
      await disk.commit(diskBatch([diskWrite("o1", 4, { prev: 1, deletes: true })]));
      expect(await afterKill(directory)).toEqual([4, ["o2@2", "o3@3"]]);
    }));

  test("before anything was written, or after a checkpoint and nothing more, finds what there is", () =>
    withFaulty(async ({ disk, clock, directory }) => {
      expect(await afterKill(directory)).toEqual([0, []]);
      await put(disk, "a", 1);
      await clock.advance(1_000);
      await expect.poll(() => disk.figures()).toEqual({ redoBytes: 0, checkpoints: 1 });
      expect(await afterKill(directory)).toEqual([1, ["a@1"]]);
    }));

  test("leaves a log that the next start removes, with whatever was in it", () =>
    withFaulty(async ({ disk, directory }) => {
      await put(disk, "a", 1);
      await withDirectory(async (copy) => {
        await cp(directory, copy, { recursive: true });
        const again = await openRedo(copy, new FakeClock());
        expect((await readdir(copy)).filter((name) => name.includes("redo"))).toEqual([]);
        await put(again, "b", 2);
        expect(await afterKill(copy)).toEqual([2, ["a@1", "b@2"]]);
        await again.close();
      });
    }));

  test("between the switch of segments and the checkpoint, or after it, loses nothing of either", () =>
    withFaulty(async (faulty) => {
      const { disk, clock, directory } = faulty;
      const hold = deferred<void>();
      const isHeld = deferred<void>();
      faulty.before = () => {
        isHeld.resolve();
        return hold.promise;
      };
      await put(disk, "a", 1);
      await clock.advance(1_000);
      await isHeld.promise;
      expect(await afterKill(directory)).toEqual([1, ["a@1"]]);
      await put(disk, "b", 2);
      await disk.commit(diskBatch([diskWrite("a", 3, { prev: 1 })]));
      expect(await afterKill(directory)).toEqual([3, ["a@3", "b@2"]]);
      hold.resolve();
      await expect.poll(() => disk.figures().checkpoints).toBe(1);
      await put(disk, "c", 4);
      expect(await afterKill(directory)).toEqual([4, ["a@3", "b@2", "c@4"]]);
    }));

  test("with many segments in turn loses nothing at any of them", () =>
    withFaulty(async ({ disk, directory }) => {
      for (let revision = 1; revision <= 12; revision++) {
        await disk.commit(diskBatch([diskWrite("a", revision, { prev: revision - 1 })]));
        if (revision % 5 === 0) expect(await afterKill(directory)).toEqual([revision, [`a@${revision}`]]);
      }
      expect((await readdir(directory)).filter((name) => name.includes("redo"))).toHaveLength(2);
    }, 0));

  test("in the middle of a flush leaves out the batch that was torn, and nothing before it", () =>
    withFaulty(async ({ disk, directory }) => {
      await put(disk, "a", 1);
      const { redoBytes } = disk.figures();
      await put(disk, "b", 2);
      const torn = headBytes + redoBytes + 40;
      const tear = async (copy: string): Promise<void> => {
        const bytes = await readFile(join(copy, "store.redo-0"));
        await writeFile(join(copy, "store.redo-0"), bytes.fill(0, torn, torn + 10));
      };
      expect(await afterKill(directory, tear)).toEqual([1, ["a@1"]]);
    }));
});

test("a segment's file is not used again before the tables have what it holds", () =>
  withFaulty(async (faulty) => {
    const { disk, directory } = faulty;
    const hold = deferred<void>();
    faulty.before = () => hold.promise;
    await put(disk, "a", 1);
    await put(disk, "b", 2);
    let isDone = false;
    const third = put(disk, "c", 3).then(() => (isDone = true));
    expect(await afterKill(directory)).toEqual([2, ["a@1", "b@2"]]);
    expect(isDone).toBe(false);
    hold.resolve();
    await third;
    expect(await afterKill(directory)).toEqual([3, ["a@1", "b@2", "c@3"]]);
  }, 0));

test("after an orderly end the tables hold everything, and there is no log", () =>
  withDirectory(async (directory) => {
    const disk = await openRedo(directory, new FakeClock(), createdAt);
    await put(disk, "a", 1);
    await disk.close();
    expect((await readdir(directory)).filter((name) => name.includes("redo"))).toEqual([]);
    const tables = await openLmdb(path(directory));
    expect([tables.redo, objectsOf(tables)]).toEqual([undefined, ["a@1"]]);
    await tables.close();
  }));

describe("a log is refused", () => {
  const refused = async (break_: (copy: string) => Promise<void>, segments: 1 | 2): Promise<unknown> => {
    let found: unknown;
    await withFaulty(async (faulty) => {
      const { disk, clock, directory } = faulty;
      const hold = deferred<void>();
      faulty.before = () => hold.promise;
      await put(disk, "a", 1);
      await put(disk, "b", 2);
      if (segments === 2) await clock.advance(1_000);
      if (segments === 2) await put(disk, "c", 3);
      found = await afterKill(directory, break_).catch((thrown: unknown) => thrown);
      hold.resolve();
    });
    return found;
  };
  const damage = (name: string, from: number) => async (copy: string) => {
    const bytes = await readFile(join(copy, name));
    await writeFile(join(copy, name), bytes.fill(0, from, from + 8));
  };

  test.each<[string, string, 1 | 2, (copy: string) => Promise<void>]>([
    ["that is missing", "which holds its latest writes, is missing", 1, (copy) => rm(join(copy, "store.redo-0"))],
    ["whose head is damaged", "is missing", 1, damage("store.redo-0", 20)],
    [
      "whose first batch is damaged and not the last",
      "damaged behind revision 0",
      1,
      damage("store.redo-0", headBytes + 40),
    ],
    ["whose older segment is damaged", "damaged behind revision 0", 2, damage("store.redo-0", headBytes + 40)],
    ["whose newer segment is missing", "behind revision 2 is missing", 2, (copy) => rm(join(copy, "store.redo-1"))],
    ["whose newer segment has a damaged head", "behind revision 2 is missing", 2, damage("store.redo-1", 20)],
  ])("%s", async (_, message, segments, break_) => {
    expect(await refused(break_, segments)).toMatchObject({
      code: "store-corrupt",
      message: expect.stringContaining(message),
    });
  });

  test("of another store", () =>
    withFaulty(async ({ disk, directory }) => {
      await put(disk, "a", 1);
      await withFaulty(async (other) => {
        await put(other.disk, "b", 1);
        const swap = (copy: string) => cp(join(other.directory, "store.redo-0"), join(copy, "store.redo-0"));
        await expect(afterKill(directory, swap)).rejects.toMatchObject({ code: "store-corrupt" });
      });
    }));
});

const full = (): Promise<never> => Promise.reject(Object.assign(new Error("no space left"), { code: "ENOSPC" }));

describe("a checkpoint that fails", () => {
  test("is told at once, refuses what comes, and is tried again by a probe; nothing acknowledged is lost", () =>
    withFaulty(async (faulty) => {
      const { disk, clock, told, directory } = faulty;
      faulty.before = full;
      await put(disk, "a", 1);
      await clock.advance(1_000);
      await expect.poll(() => told).toMatchObject([{ code: "ENOSPC" }]);
      await expect(put(disk, "b", 2)).rejects.toMatchObject({ code: "ENOSPC" });
      await expect(disk.compact(1)).rejects.toMatchObject({ code: "ENOSPC" });
      await expect(disk.probe()).rejects.toMatchObject({ code: "ENOSPC" });
      expect(await afterKill(directory)).toEqual([1, ["a@1"]]);
      faulty.before = () => Promise.resolve();
      await disk.probe();
      await put(disk, "b", 2);
      expect(await afterKill(directory)).toEqual([2, ["a@1", "b@2"]]);
    }));

  test("at the end leaves the log to the next start", async () => {
    await withDirectory(async (copy) => {
      await withFaulty(async (faulty) => {
        faulty.before = full;
        await put(faulty.disk, "a", 1);
        await faulty.disk.close();
        expect(faulty.told).toMatchObject([{ code: "ENOSPC" }]);
        await cp(faulty.directory, copy, { recursive: true });
        faulty.disk.close = () => Promise.resolve();
      });
      const disk = await openRedo(copy, new FakeClock());
      expect([disk.meta.revision, objectsOf(disk)]).toEqual([1, ["a@1"]]);
      await disk.close();
    });
  });
});

test("a disk that is closed takes nothing more, and a timer that was due with its end does nothing", () =>
  withFaulty(async (faulty) => {
    const { disk, clock, told, directory } = faulty;
    await put(disk, "a", 1);
    const closed = disk.close();
    await clock.advance(1_000);
    await closed;
    disk.close = () => Promise.resolve();
    await expect(put(disk, "b", 2)).rejects.toThrow(`the store in ${directory} is closed`);
    expect(told).toEqual([]);
    expect(await afterKill(directory)).toEqual([1, ["a@1"]]);
  }));

test("a log that cannot be made refuses the write, and the next one tries again", () =>
  withDirectory(async (directory) => {
    const disk = await openRedo(directory, new FakeClock(), createdAt);
    await mkdir(join(directory, "store.redo-0"));
    await expect(put(disk, "a", 1)).rejects.toMatchObject({ code: "EISDIR" });
    await rm(join(directory, "store.redo-0"), { recursive: true });
    await put(disk, "a", 1);
    expect(await afterKill(directory)).toEqual([1, ["a@1"]]);
    await disk.close();
  }));

test("a log whose file is removed refuses the next write: what it takes nobody would find", () =>
  withDirectory(async (directory) => {
    const disk = await openRedo(directory, new FakeClock(), createdAt);
    await put(disk, "a", 1);
    await rm(join(directory, "store.redo-0"));
    await expect(
      (async () => {
        for (let revision = 2; ; revision++) await put(disk, "a", revision);
      })(),
    ).rejects.toThrow("store.redo-0 has been removed or replaced while it was in use");
    await disk.close();
  }));
