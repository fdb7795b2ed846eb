import { describe, expect, test } from "vitest";
import {
  difference,
  FieldSetBuilder,
  type FieldSet,
  hasPath,
  intersection,
  leaf,
  onlyBelow,
  pathsOf,
  union,
  withoutSubtrees,
} from "./field-set.ts";
import { printed } from "./testing/world.ts";

const ab: FieldSet = { "f:a": { ".": {}, "f:b": {} } };
const b: FieldSet = { "f:a": { "f:b": {} } };
const a: FieldSet = { "f:a": {} };

describe("operations", () => {
  test.each<[string, (x: FieldSet, y: FieldSet) => FieldSet, FieldSet, FieldSet, readonly string[]]>([
    ["a path and one inside it join", union, a, b, [".a", ".a.b"]],
    ["the union with nothing", union, a, leaf, [".a"]],
    ["nothing joined with a set", union, leaf, a, [".a"]],
    ["elements are sorted", union, { "f:c": {} }, { "f:b": {} }, [".b", ".c"]],
    ["a difference leaves what is inside", difference, ab, a, [".a.b"]],
    ["a difference leaves what is around", difference, ab, b, [".a"]],
    ["a difference that leaves nothing", difference, a, a, []],
    ["a difference with nothing", difference, ab, leaf, [".a", ".a.b"]],
    ["nothing without something", difference, leaf, a, []],
    ["whole parts go", withoutSubtrees, ab, a, []],
    ["parts inside go", withoutSubtrees, ab, b, [".a"]],
    ["a part that is not a member does not take others", withoutSubtrees, ab, { "f:a": { "f:c": {} } }, [".a", ".a.b"]],
    ["what both have", intersection, ab, b, [".a.b"]],
    ["what both have is the path alone", intersection, ab, a, [".a"]],
    ["nothing in common", intersection, a, b, []],
    ["the intersection with nothing", intersection, a, leaf, []],
  ])("%s", (_name, operation, x, y, paths) => {
    expect(printed(operation(x, y))).toEqual(paths);
  });

  test("an operation that changes nothing gives back its first argument", () => {
    expect(union(ab, b)).toBe(ab);
    expect(difference(b, a)).toBe(b);
    expect(withoutSubtrees(a, { "f:c": {} })).toBe(a);
  });

  test("no argument is changed", () => {
    const x: FieldSet = Object.freeze({ "f:a": Object.freeze({}) });
    union(x, ab);
    difference(ab, x);
    expect(x).toEqual({ "f:a": {} });
  });
});

test("a path is in the set only as a member", () => {
  expect(hasPath(b, ["f:a"])).toBe(false);
  expect(hasPath(ab, ["f:a"])).toBe(true);
  expect(hasPath(ab, ["f:a", "f:b"])).toBe(true);
  expect(hasPath(ab, ["f:a", "f:b", "f:c"])).toBe(false);
  expect(hasPath(leaf, [])).toBe(false);
});

test("the part below an element is a set of its own", () => {
  expect(printed(onlyBelow({ "f:a": {}, "f:b": {} }, "f:b"))).toEqual([".b"]);
  expect(printed(onlyBelow(a, "f:x"))).toEqual([]);
});

describe("building", () => {
  test("paths come in any order and end up sorted", () => {
    const builder = new FieldSetBuilder();
    for (const path of [["f:b"], ["f:a", "f:x"], ["f:a"], ["f:a", "f:x", "v:2"], ["f:a", "f:x", "v:1"]])
      builder.insert(path);
    expect(JSON.stringify(builder.build())).toBe('{"f:a":{".":{},"f:x":{".":{},"v:1":{},"v:2":{}}},"f:b":{}}');
  });

  test("whole parts and single paths at one place join", () => {
    const builder = new FieldSetBuilder();
    builder.insert(["f:a"], { "f:x": {} });
    builder.insert(["f:a", "f:y"]);
    builder.insert(["f:a"], { "f:z": {} });
    expect(printed(builder.build())).toEqual([".a", ".a.x", ".a.y", ".a.z"]);
  });

  test("nothing inserted is the empty set", () => {
    expect(pathsOf(new FieldSetBuilder().build())).toEqual([]);
  });
});
