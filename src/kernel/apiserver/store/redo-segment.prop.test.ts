import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CommitBatch } from "./disk.ts";
import { encodeBatch, encodeHead, headBytes, readSegment, type SegmentHead } from "./redo-segment.ts";
import { diskBatch, diskWrite } from "./testing/store-objects.ts";

const id = Buffer.from("segment!");
const head = (firstRevision: number): SegmentHead => ({ id, store: "uid", firstRevision, previous: undefined });

/** Batches of writes with successive revisions, and of system records, in any mixture. */
const batches = fc
  .array(
    fc.record({
      values: fc.array(fc.string({ maxLength: 40 }), { maxLength: 3 }),
      system: fc.array(
        fc.record({ key: fc.string({ minLength: 1, maxLength: 5 }), value: fc.option(fc.string({ maxLength: 9 })) }),
        {
          maxLength: 2,
        },
      ),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((parts) => {
    let revision = 0;
    return parts.map(({ values, system }) => {
      const writes = values.map((value) => diskWrite("a", ++revision, { prev: revision - 1, value }));
      const changes = system.map(({ key, value }) => ({ key, value: value === null ? undefined : Buffer.from(value) }));
      return diskBatch(writes, revision, changes);
    });
  });

/** The file with these batches, and where each ends. */
function written(all: readonly CommitBatch[]): { readonly bytes: Buffer; readonly ends: readonly number[] } {
  const first = encodeHead(head(1));
  const pieces = [first.bytes];
  let [end, position] = [first.end, headBytes];
  const ends = all.map((batch) => {
    const sealed = encodeBatch(batch, id, end);
    pieces.push(sealed.bytes);
    end = sealed.end;
    return (position += sealed.bytes.length);
  });
  return { bytes: Buffer.concat(pieces, position + 64), ends };
}

/** What of a batch matters, in a form that can be compared. */
const said = ({ writes, system, revision }: CommitBatch): unknown => [
  revision,
  writes.map((write) => [
    write.revision,
    write.deletes,
    (write.inlined ?? write.record.bytes).toString("hex"),
    write.record.keyEnd,
  ]),
  system.map(({ key, value }) => [key, value?.toString("hex")]),
];

const readBack = (bytes: Buffer): readonly unknown[] => readSegment(bytes)?.batches.map(said) ?? [];

describe("a segment", () => {
  test("gives back what was written", () => {
    fc.assert(
      fc.property(batches, (all) => {
        expect(readBack(written(all).bytes)).toEqual(all.map(said));
      }),
    );
  });

  test("that ends at any byte has the batches that are whole, and no other", () => {
    fc.assert(
      fc.property(batches, (all) => {
        const { bytes, ends } = written(all);
        for (let length = headBytes; length <= bytes.length; length++) {
          const torn = Buffer.concat([bytes.subarray(0, length)], bytes.length);
          const whole = ends.filter((end) => bytes.subarray(length, end).every((byte) => byte === 0)).length;
          expect(readBack(torn)).toEqual(all.slice(0, whole).map(said));
        }
      }),
      { numRuns: 20 },
    );
  });

  test("with any bit flipped has the batches before it, and says whether it was not the last that is damaged", () => {
    fc.assert(
      fc.property(batches, fc.nat(7), (all, bit) => {
        const { bytes, ends } = written(all);
        for (let index = headBytes; index < (ends.at(-1) ?? 0); index++) {
          const flipped = Buffer.from(bytes);
          flipped[index] = (flipped[index] ?? 0) ^ (1 << bit);
          const whole = ends.filter((end) => end <= index).length;
          const found = readSegment(flipped);
          expect(found?.batches.map(said)).toEqual(all.slice(0, whole).map(said));
          expect(found?.isBroken).toBe(whole < all.length - 1);
        }
      }),
      { numRuns: 20 },
    );
  });

  test("with any bit of its head flipped is none", () => {
    const { bytes } = written([diskBatch([diskWrite("a", 1)])]);
    for (let index = 0; index < headBytes; index++) {
      const flipped = Buffer.from(bytes);
      flipped[index] = (flipped[index] ?? 0) ^ 16;
      expect(readSegment(flipped)).toBeUndefined();
    }
  });

  test("in the place of another one has nothing of that one's batches", () => {
    fc.assert(
      fc.property(batches, batches, (older, newer) => {
        const old = written(older).bytes;
        const renewed = Buffer.from(old);
        const fresh = { ...head(1), id: Buffer.from("another!") };
        const { bytes, end } = encodeHead(fresh);
        renewed.set(bytes);
        expect(readBack(renewed)).toEqual([]);
        const first = newer.slice(0, 1);
        const batch = encodeBatch(first[0] ?? diskBatch([]), fresh.id, end);
        const both = Buffer.concat([renewed], Math.max(renewed.length, headBytes + batch.bytes.length));
        both.set(batch.bytes, headBytes);
        expect(readBack(both)).toEqual(first.map(said));
      }),
    );
  });
});
