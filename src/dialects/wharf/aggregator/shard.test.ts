import { expect, test } from "vitest";
import { newUid } from "#lib/base/index.node.ts";
import { isOfShard, parseShard, wholeShard } from "./shard.ts";

test("the worker of a uid is that of its 128 bits modulo the count", () => {
  // 0x…05 mod 3 is 2 for a number whose other digits are zeros.
  const five = "00000000-0000-0000-0000-000000000005";
  expect([1, 2, 3].filter((index) => isOfShard(five, { index, of: 3 }))).toEqual([3]);
  expect(isOfShard(five, wholeShard)).toBe(true);
});

test.each([2, 3, 7])("every one of 300 workers is exactly one's of %i", (of) => {
  const names = Array.from({ length: 150 }, (_, at) => `wharf-cmd-worker-local-${at}`);
  for (const uid of [...names, ...names.map(() => newUid())]) {
    const mine = Array.from({ length: of }, (_, at) => at + 1).filter((index) => isOfShard(uid, { index, of }));
    expect(mine).toHaveLength(1);
  }
});

test("none of two is left without work", () => {
  const uids = Array.from({ length: 64 }, () => newUid());
  expect(uids.some((uid) => isOfShard(uid, { index: 1, of: 2 }))).toBe(true);
  expect(uids.some((uid) => isOfShard(uid, { index: 2, of: 2 }))).toBe(true);
});

test("K/N is read; anything else is refused with what was found", () => {
  expect(parseShard("2/3")).toEqual({ ok: true, value: { index: 2, of: 3 } });
  for (const text of ["0/3", "4/3", "1", "a/b", "1/0", "1/2/3", ""])
    expect(parseShard(text)).toEqual({
      ok: false,
      error: `expected K/N with K from 1 to N, as in 2/3, found ${JSON.stringify(text)}`,
    });
});
