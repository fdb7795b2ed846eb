import { expect, test } from "vitest";
import { decodeKey, decodeRecord, decodeValue, encodeValue, inlinePrevious, readRevision } from "./codec.ts";
import type { Disk } from "./disk.ts";
import { diskBatch, diskWrite, withDirectory } from "./testing/store-objects.ts";

/** Opens the disk of a directory, which it makes if there is none; what was there before is to be found. */
export type OpenDisk = (directory: string) => Promise<Disk>;

/** What is on a disk: `a@3` for an object, `modify a@3<1` for a record. */
const contentOf = (disk: Disk) => ({
  revision: disk.meta.revision,
  compacted: disk.meta.compacted,
  objects: Array.from(disk.objects(), ({ key, value }) => `${decodeKey(key).name}@${decodeValue(value).revision}`),
  records: Array.from(disk.records(), ({ key, value }) => {
    const { type, key: bytes, prevRevision, inlined } = decodeRecord(value);
    return `${type} ${decodeKey(bytes).name}@${readRevision(key, 0)}<${prevRevision}${inlined === undefined ? "" : "!"}`;
  }),
  system: Object.fromEntries(Array.from(disk.system(), ([key, value]) => [key, value.toString()])),
});

/** What every disk with a directory does. */
export function diskContract(open: OpenDisk): void {
  const withDisk = async <T>(directory: string, use: (disk: Disk) => Promise<T> | T): Promise<T> => {
    const disk = await open(directory);
    try {
      return await use(disk);
    } finally {
      await disk.close();
    }
  };
  const reopened = (directory: string) => withDisk(directory, contentOf);

  test("is empty when it is new, and has an identity that stays", () =>
    withDirectory(async (directory) => {
      const uid = await withDisk(directory, ({ meta }) => meta.clusterUid);
      expect(await withDisk(directory, ({ meta }) => meta.clusterUid)).toBe(uid);
      expect(await reopened(directory)).toEqual({ revision: 0, compacted: 0, objects: [], records: [], system: {} });
    }));

  test("keeps the newest version of each object, every record, and what else was committed", () =>
    withDirectory(async (directory) => {
      await withDisk(directory, async (disk) => {
        await disk.commit(
          diskBatch([diskWrite("a", 1), diskWrite("b", 2)], 2, [{ key: "k", value: Buffer.from("v") }]),
        );
        await disk.commit(diskBatch([diskWrite("a", 3, { prev: 1 }), diskWrite("a", 4, { prev: 3 })]));
        await disk.commit(diskBatch([diskWrite("b", 5, { prev: 2, deletes: true })]));
        await disk.commit(diskBatch([], 5, [{ key: "gone", value: Buffer.from("x") }]));
        await disk.commit(diskBatch([], 5, [{ key: "gone", value: undefined }]));
        expect(disk.meta.revision).toBe(5);
      });
      expect(await reopened(directory)).toEqual({
        revision: 5,
        compacted: 0,
        objects: ["a@4"],
        records: ["add a@1<0", "add b@2<0", "modify a@3<1", "modify a@4<3", "delete b@5<2"],
        system: { k: "v" },
      });
    }));

  test("keeps a record that carries its previous state, and the object without it", () =>
    withDirectory(async (directory) => {
      const write = diskWrite("a", 2, { prev: 1, value: "new" });
      await withDisk(directory, async (disk) => {
        await disk.commit(diskBatch([diskWrite("a", 1)]));
        const inlined = inlinePrevious(write.record, encodeValue(1, 1, Buffer.from("{}")));
        await disk.commit(diskBatch([{ ...write, inlined }]));
      });
      const { objects, records } = await reopened(directory);
      expect([objects, records]).toEqual([["a@2"], ["add a@1<0", "modify a@2<1!"]]);
      const json = await withDisk(directory, (disk) =>
        Array.from(disk.objects(), ({ value }) => decodeValue(value).json.toString()),
      );
      expect(json).toEqual([expect.stringContaining('"value":"new"')]);
    }));

  test("gives up what is compacted, and keeps the previous state of what is not", () =>
    withDirectory(async (directory) => {
      await withDisk(directory, async (disk) => {
        for (const write of [diskWrite("a", 1), diskWrite("b", 2), diskWrite("a", 3, { prev: 1 })]) {
          await disk.commit(diskBatch([write]));
          await disk.compact(0);
        }
        await disk.compact(2);
        expect(disk.meta).toMatchObject({ revision: 3, compacted: 2 });
      });
      const found = await reopened(directory);
      expect(found).toMatchObject({ compacted: 2, objects: ["a@3", "b@2"], records: ["add a@1<0", "modify a@3<1"] });
      await withDisk(directory, (disk) => disk.compact(3));
      expect(await reopened(directory)).toMatchObject({ compacted: 3, objects: ["a@3", "b@2"], records: [] });
    }));

  test("a probe changes nothing", () =>
    withDirectory(async (directory) => {
      await withDisk(directory, async (disk) => {
        await disk.commit(diskBatch([diskWrite("a", 1)]));
        await disk.probe();
      });
      expect(await reopened(directory)).toMatchObject({ revision: 1, objects: ["a@1"], records: ["add a@1<0"] });
    }));

  test("a backup is a whole store of that moment", () =>
    withDirectory(async (directory) => {
      await withDirectory(async (copy) => {
        await withDisk(directory, async (disk) => {
          await disk.commit(diskBatch([diskWrite("a", 1)]));
          await disk.commit(diskBatch([diskWrite("a", 2, { prev: 1 })]));
          await disk.backup(`${copy}/store.mdb`);
          await disk.commit(diskBatch([diskWrite("a", 3, { prev: 2 })]));
        });
        expect(await reopened(copy)).toMatchObject({ revision: 2, objects: ["a@2"] });
      });
    }));
}
