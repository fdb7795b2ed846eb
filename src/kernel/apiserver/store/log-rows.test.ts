import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeValue, inlinePrevious } from "./codec.ts";
import type { DiskWrite } from "./disk.ts";
import { decodeRow, encodeRow, LogIndex, logRows, rowBytes } from "./log-rows.ts";
import { diskWrite } from "./testing/store-objects.ts";

const inlined = (write: DiskWrite): DiskWrite => ({
  ...write,
  inlined: inlinePrevious(write.record, encodeValue(1, 1, Buffer.from("{}"))),
});

describe("a row", () => {
  test("gives each of its records back", () => {
    const records = [diskWrite("a", 1), diskWrite("b", 2), diskWrite("a", 3, { prev: 1 })].map(
      ({ record }) => record.bytes,
    );
    for (const count of [1, 2, 3]) {
      const some = records.slice(0, count);
      expect(decodeRow(encodeRow({ records: some }), 1)).toEqual(some);
    }
  });

  test("keeps its size, but for a record that is larger by itself", () => {
    const sizes = [100, 30_000, 30_000, 30_000, 200_000, 100, 100];
    const writes = sizes.map((size, index) => diskWrite(`n${index}`, index + 1, { value: "x".repeat(size) }));
    const rows = logRows(writes);
    expect(rows.map(({ first, records }) => [first, records.length])).toEqual([
      [1, 3],
      [4, 1],
      [5, 1],
      [6, 2],
    ]);
    for (const row of rows) if (row.records.length > 1) expect(encodeRow(row).length).toBeLessThanOrEqual(rowBytes);
  });

  test("with any bit changed names the record, or does not give it", () => {
    const whole = encodeRow({ records: [diskWrite("a", 7), diskWrite("b", 8)].map(({ record }) => record.bytes) });
    for (let bit = 0; bit < whole.length * 8; bit++) {
      const bytes = Buffer.from(whole);
      bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(() => decodeRow(bytes, 7)).toThrow(/the record of revision [78].* is damaged/);
      const damages: string[] = [];
      const sound = decodeRow(bytes, 7, ({ message }) => void damages.push(message));
      expect([sound.length, damages.length]).toEqual([damages[0]?.includes("revision 8") === true ? 1 : 0, 1]);
    }
    for (let length = 1; length < whole.length; length++) {
      if (length !== whole.length / 2) expect(() => decodeRow(whole.subarray(0, length), 7)).toThrow("is damaged");
    }
  });

  test("says whose record is damaged", () => {
    const bytes = encodeRow({ records: [diskWrite("a", 7).record.bytes] });
    bytes.writeUInt8(0, bytes.length - 10);
    expect(() => decodeRow(bytes, 7)).toThrow('of revision 7, of items.test.slipway.dev "default/a", is damaged');
  });
});

describe("what a compaction may drop", () => {
  const indexOf = (writes: readonly DiskWrite[], perRow: number): LogIndex => {
    const index = new LogIndex();
    for (let from = 0; from < writes.length; from += perRow) {
      const part = writes.slice(from, from + perRow);
      index.add({ first: from + 1, records: part.map(({ record, inlined: whole }) => whole ?? record.bytes) });
    }
    return index;
  };

  test("is rows whose records are compacted, all of them", () => {
    const index = indexOf([diskWrite("a", 1), diskWrite("b", 2), diskWrite("c", 3), diskWrite("d", 4)], 2);
    expect([0, 1, 2, 3, 4].map((through) => index.droppable(through))).toEqual([[], [], [1], [1], [1, 3]]);
  });

  test("is not a row with the previous state of an event that stays, until that one goes", () => {
    const index = indexOf([diskWrite("a", 1), diskWrite("b", 2), diskWrite("a", 3, { prev: 1 }), diskWrite("c", 4)], 1);
    expect(index.droppable(2)).toEqual([2]);
    index.drop(2);
    expect(index.droppable(3)).toEqual([1, 3]);
  });

  test("is such a row when the event carries its previous state", () => {
    const index = indexOf([diskWrite("a", 1), inlined(diskWrite("a", 2, { prev: 1 }))], 1);
    expect(index.droppable(1)).toEqual([1]);
  });

  test("never is a record that an event needs which stays, whatever was written and dropped before", () => {
    const plan = fc.array(fc.record({ object: fc.nat(3), compacts: fc.boolean() }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(plan, fc.integer({ min: 1, max: 5 }), (steps, perRow) => {
        const index = new LogIndex();
        const latest = new Map<number, number>();
        const needs: { readonly revision: number; readonly previous: number }[] = [];
        let [compacted, row]: [number, DiskWrite[]] = [0, []];
        const dropped = new Set<number>();
        const size = new Map<number, number>();
        for (const [at, { object, compacts }] of steps.entries()) {
          const revision = at + 1;
          const prev = latest.get(object) ?? 0;
          const write = diskWrite(`o${object}`, revision, { prev });
          const carries = prev !== 0 && prev <= compacted;
          if (prev !== 0 && !carries) needs.push({ revision, previous: prev });
          row.push(carries ? inlined(write) : write);
          latest.set(object, revision);
          if (row.length < perRow) continue;
          const first = revision - row.length + 1;
          index.add({ first, records: row.map(({ record, inlined: whole }) => whole ?? record.bytes) });
          size.set(first, row.length);
          row = [];
          if (!compacts) continue;
          compacted = revision - (at % 3);
          for (const key of index.droppable(compacted)) dropped.add(key);
          index.drop(compacted);
          const isThere = (wanted: number): boolean =>
            [...size].some(([key, count]) => !dropped.has(key) && key <= wanted && wanted < key + count);
          for (const need of needs) if (need.revision > compacted) expect(isThere(need.previous)).toBe(true);
          for (let kept = compacted + 1; kept <= revision; kept++) expect(isThere(kept)).toBe(true);
        }
      }),
    );
  });
});
