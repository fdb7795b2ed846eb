import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countIndexes } from "./index-list.ts";

describe("a list of indexes", () => {
  test.each<[string, number]>([
    ["", 0],
    ["0", 1],
    ["0,2-4", 4],
    ["0-9", 10],
    ["1,3,5", 3],
    ["2-3,9", 3],
  ])("%j names %i", (text, count) => {
    expect(countIndexes(text, 10)).toEqual({ ok: true, value: count });
  });

  test.each<[string, RegExp]>([
    ["a", /^"a" is neither an index nor a range/],
    ["-1", /^"-1" is neither/],
    ["1-", /^"1-" is neither/],
    ["1-2-3", /^"1-2-3" is neither/],
    ["01", /^"01" is neither/],
    ["1.5", /^"1.5" is neither/],
    ["1, 2", /^" 2" is neither/],
    [",", /^"" is neither/],
    ["10", /^"10" is too large: indexes are less than completions \(10\)/],
    ["8-10", /^"8-10" is too large/],
    ["99999999999", /^"99999999999" is neither/],
    ["1,1", /^"1" does not come after the index 1/],
    ["3-5,4", /^"4" does not come after the index 5/],
    ["5,4", /^"4" does not come after/],
    ["4-3", /^"4-3" is no range/],
    ["3-3", /^"3-3" is no range/],
  ])("%j is refused", (text, message) => {
    expect(countIndexes(text, 10)).toEqual({ ok: false, error: expect.stringMatching(message) });
  });
});

test("every set of indexes is counted, however its runs are written", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(60), { maxLength: 40 }), fc.boolean(), (indexes, asRanges) => {
      const sorted = indexes.sort((a, b) => a - b);
      const runs = sorted.reduce<number[][]>((found, index) => {
        const last = found.at(-1);
        if (asRanges && last !== undefined && last.at(-1) === index - 1) last.push(index);
        else found.push([index]);
        return found;
      }, []);
      const text = runs.map((run) => (run.length === 1 ? `${run[0]}` : `${run[0]}-${run.at(-1)}`)).join(",");
      expect(countIndexes(text, 61)).toEqual({ ok: true, value: sorted.length });
    }),
    { numRuns: 100 },
  );
});
