import { describe, expect, test } from "vitest";
import { axesOf, combinationsOf } from "./matrix.ts";

const combine = (matrix: Parameters<typeof combinationsOf>[0] & Record<string, unknown>) => {
  const axes = axesOf(matrix);
  if (!axes.ok) throw new Error(JSON.stringify(axes.error));
  return combinationsOf(matrix, axes.value);
};

const os = ["linux", "mac"];

test("every combination, axes by name, the last one changing first", () => {
  expect(combine({ os, node: [20, 22] })).toEqual([
    { node: 20, os: "linux" },
    { node: 20, os: "mac" },
    { node: 22, os: "linux" },
    { node: 22, os: "mac" },
  ]);
});

test("what is excluded is left out: every combination with all these members", () => {
  expect(combine({ os, node: [20, 22], exclude: [{ os: "mac", node: 20 }] })).toHaveLength(3);
  expect(combine({ os, node: [20, 22], exclude: [{ os: "mac" }] })).toEqual([
    { node: 20, os: "linux" },
    { node: 22, os: "linux" },
  ]);
});

test("an include adds to the combinations it does not contradict, or stands alone", () => {
  const include = [{ os: "mac", runner: "m1" }, { color: "green" }, { os: "bsd" }];
  expect(combine({ os, include })).toEqual([
    { os: "linux", color: "green" },
    { os: "mac", runner: "m1", color: "green" },
    { os: "bsd" },
  ]);
  expect(combine({ include: [{ a: 1 }, { a: 2 }] })).toEqual([{ a: 1 }, { a: 2 }]);
});

test("far too many combinations are not made", () => {
  const axis = Array.from({ length: 1_000 }, (_, n) => n);
  expect(combine({ a: axis, b: axis, c: axis })).toHaveLength(10_001);
});

describe("what is no axis is told", () => {
  test.each([
    [{ os: "linux" }, [{ field: ["os"], message: 'expected a list of at least one value, found "linux"' }]],
    [{ os: [] }, [{ field: ["os"], message: "expected a list of at least one value, found []" }]],
    [{}, [{ field: [], message: "expected at least one axis" }]],
  ] as const)("%j", (matrix: Record<string, unknown>, error) => {
    expect(axesOf(matrix)).toEqual({ ok: false, error });
  });
});
