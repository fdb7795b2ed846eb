import { expect, test } from "vitest";
import { SparseIndex } from "./step-log.ts";

test("an entry stands every 1,024 lines or 256 KiB, whichever comes first", () => {
  const index = new SparseIndex();
  index.note({ id: 1000, offset: 1000 });
  index.note({ id: 1025, offset: 1025 });
  index.note({ id: 1026, offset: 1025 + 256 * 1024 });
  index.note({ id: 500, offset: 500 });
  expect(index.size).toBe(3);
  expect(index.before(1024)).toEqual({ id: 1, offset: 0 });
  expect(index.before(1025)).toEqual({ id: 1025, offset: 1025 });
  expect(index.before(9_999_999)).toEqual({ id: 1026, offset: 1025 + 256 * 1024 });
});

test("the index of a log of any length is bounded, and its places stay right", () => {
  const index = new SparseIndex();
  for (let at = 1; at <= 100_000; at++) index.note({ id: 1 + at * 1024, offset: at * 100_000 });
  expect(index.size).toBeLessThanOrEqual(16_384);
  for (const id of [1, 5000, 1_000_000, 100_000_000]) {
    const place = index.before(id);
    expect(place.id).toBeLessThanOrEqual(id);
    expect(id - place.id).toBeLessThanOrEqual(1024 * 16);
    expect(place.offset).toBe(((place.id - 1) / 1024) * 100_000);
  }
});
