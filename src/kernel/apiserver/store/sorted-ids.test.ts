import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lowerBound, mergeSorted, SortedIds } from "./sorted-ids.ts";

describe("sorted ids", () => {
  test("are in order after any additions and removals, looked at whenever", () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ id: fc.integer({ min: 0, max: 60 }).map(String) }) },
      { weight: 1, arbitrary: fc.constant("look" as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const ids = new SortedIds();
        const model = new Set<string>();
        for (const next of steps) {
          if (next === "look") expect(ids.sorted()).toEqual([...model].sort());
          else if (model.delete(next.id)) ids.remove(next.id);
          else {
            model.add(next.id);
            ids.add(next.id);
          }
        }
        expect(ids.sorted()).toEqual([...model].sort());
      }),
    );
  });

  test("the lower bound is the place of the first that is not below", () => {
    expect(["a", "b", "bb", "c", "d"].map((id) => lowerBound(["b", "c"], id))).toEqual([0, 0, 1, 1, 2]);
  });

  test("merging keeps the order of both", () => {
    expect(mergeSorted(["a", "c"], ["b", "d", "e"])).toEqual(["a", "b", "c", "d", "e"]);
    expect(mergeSorted([], ["a"])).toEqual(["a"]);
    expect(mergeSorted([], [])).toEqual([]);
  });
});
