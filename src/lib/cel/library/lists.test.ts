import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { evaluate, expectFailures, expectTrue, expectValues } from "./testing/evaluate.ts";

describe("order", () => {
  expectTrue([
    "[].isSorted() && [1].isSorted() && [{}].isSorted()",
    "[1, 2, 2, 3].isSorted() && ![2, 1].isSorted()",
    "[1, 1.5, 2u, 2.0].isSorted()",
    "[1u, 2u].isSorted() && ![2u, 1u].isSorted()",
    "[0.5, 1.5].isSorted() && ![2.0, 1.0].isSorted()",
    "['a', 'b', 'b', 'c'].isSorted() && !['b', 'a'].isSorted() && ['', 'A', 'a'].isSorted()",
    "[false, true].isSorted() && ![true, false].isSorted()",
    "[duration('1s'), duration('1m'), duration('1h')].isSorted() && ![duration('1s'), duration('-1s')].isSorted()",
    "[timestamp('2024-01-01T00:00:00Z'), timestamp('2024-01-01T01:30:00+01:00')].isSorted()",
    "[b'a', b'ab', b'b'].isSorted() && ![b'b', b'ab'].isSorted()",
    "[3, 1, 2].min() == 1 && [3, 1, 2].max() == 3",
    "[1.5, 1].min() == dyn(1) && [1, 1.5].max() == dyn(1.5)",
    "[2u, 1u].min() == dyn(1u) && [2u, 3u].max() == dyn(3u)",
    "['b', 'a'].min() == 'a' && [true, false].max() == true",
    "[duration('1h'), duration('1s')].max() == dyn(duration('1h'))",
    "[timestamp('2025-01-01T00:00:00Z'), timestamp('2024-01-01T00:00:00Z')].min().getFullYear() == 2024",
    "[b'b', b'a'].max() == dyn(b'b')",
  ]);
  expectFailures([
    ["[].min()", "min and max need a list that is not empty"],
    ["[].max()", "min and max need a list that is not empty"],
    ["[dyn(1), 'a'].max()", "the list mixes values of different types"],
    ["[dyn('a'), true].isSorted()", "the list mixes values of different types"],
    ["[duration('1s'), timestamp('2024-01-01T00:00:00Z')].isSorted()", "the list mixes values of different types"],
    ["[{}, {}].isSorted()", "the list holds values that have no order"],
    ["[[1], [2]].min()", "the list holds values that have no order"],
    ["[null, null].max()", "the list holds values that have no order"],
    ["[1, dyn(null)].isSorted()", "the list holds values that have no order"],
  ]);
});

describe("sums", () => {
  expectValues([
    ["[].sum()", 0],
    ["[1, 3].sum()", 4],
    ["[5].sum()", 5],
    ["[1.5, 2].sum()", 3.5],
    ["[1u, 2u].sum()", 3],
    ["[1u, 2].sum()", 3],
    ["[duration('1m'), duration('1s')].sum()", "61s"],
    ["string([9223372036854775806, 1].sum() == 9223372036854775807)", "true"],
  ]);
  expectFailures([
    ["['a'].sum()", "sum needs numbers or durations"],
    ["[dyn(1), null].sum()", "sum needs numbers or durations"],
    ["[dyn(1), duration('1s')].sum()", "sum needs numbers or durations"],
    ["[duration('1s'), dyn(1)].sum()", "sum needs numbers or durations"],
    ["[timestamp('2024-01-01T00:00:00Z')].sum()", "sum needs numbers or durations"],
    ["[9223372036854775807, 1].sum()", "integer overflow: 9223372036854775808"],
    ["[-9223372036854775807, -2].sum()", "integer overflow: -9223372036854775809"],
    ["[18446744073709551615u, 1u].sum()", "integer overflow: 18446744073709551616"],
  ]);
});

describe("places", () => {
  expectValues([
    ["[1, 2, 2, 3].indexOf(2)", 1],
    ["[1, 2, 2, 3].lastIndexOf(2)", 2],
    ["['a'].indexOf('z')", -1],
    ["[].indexOf('string')", -1],
    ["[].lastIndexOf(1)", -1],
    ["[1.0].indexOf(1.1)", -1],
    ["[1, 2].indexOf(2.0)", 1],
    ["[1u, 2u].indexOf(2)", 1],
    ["['1', 1].indexOf(1)", 1],
    ["[true, 1].indexOf(1)", 1],
    ["[null, 0].indexOf(null)", 0],
    ["[[1], [2, 3]].indexOf([2, 3])", 1],
    ["[[1], [2, 3]].indexOf([2])", -1],
    ["[{'a': 1}, {'a': 1, 'b': [2]}].indexOf({'b': [2], 'a': 1})", 1],
    ["[{'a': 1}].indexOf({'b': 1})", -1],
    ["[{1: 'a'}].lastIndexOf({1: 'a'})", 0],
    ["[b'a', b'b'].indexOf(b'b')", 1],
    ["[duration('60s')].indexOf(duration('1m'))", 0],
    ["[timestamp('2024-01-01T00:00:00Z')].indexOf(timestamp('2024-01-01T01:00:00+01:00'))", 0],
    ["[duration('1s')].indexOf(1)", -1],
  ]);
});

test("a list of JSON is sorted when its numbers are", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.integer(), fc.double({ noNaN: true, min: -1e9, max: 1e9 })), { minLength: 1 }),
      (list) => {
        const self = list.map((number) => (number === 0 ? 0 : number));
        const sorted = self.toSorted((a, b) => a - b);
        expect(evaluate("self.isSorted()", { self: sorted })).toEqual({ ok: true, value: true });
        expect(evaluate("[self.min(), self.max()]", { self })).toEqual({ ok: true, value: [sorted[0], sorted.at(-1)] });
        expect(evaluate("self.isSorted()", { self })).toEqual({
          ok: true,
          value: self.every((number, at) => at === 0 || number >= (self[at - 1] ?? 0)),
        });
      },
    ),
    { numRuns: 200 },
  );
});
