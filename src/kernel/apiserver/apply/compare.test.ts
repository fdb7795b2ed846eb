import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { definitionNames } from "#kernel/specs/index.ts";
import { compare, isSame } from "./compare.ts";
import { objectWith, printed, testType } from "./testing/world.ts";
import { builtInTypeNode } from "./type-node.ts";

/** `+` added, `~` modified, `-` removed, below `.spec`. */
function changes(old: JsonObject, next: JsonObject): readonly string[] {
  const { added, modified, removed } = compare(objectWith(old), objectWith(next), testType);
  const marked = (mark: string, paths: readonly string[]) => paths.map((path) => mark + path.replace(/^\.spec/, ""));
  return [...marked("+", printed(added)), ...marked("~", printed(modified)), ...marked("-", printed(removed))];
}

const i = { name: "i" };
const itemI = '.keyed[name="i"]';

describe("what changed", () => {
  test.each<[string, JsonObject, JsonObject, readonly string[]]>([
    ["nothing", { a: "1", keyed: [i] }, { a: "1", keyed: [{ ...i }] }, []],
    ["a scalar is added", {}, { a: "1" }, ["+.a"]],
    ["a scalar is modified", { a: "1" }, { a: "2" }, ["~.a"]],
    ["a scalar is removed", { a: "1" }, {}, ["-.a"]],
    ["a scalar becomes null", { nullable: "1" }, { nullable: null }, ["~.nullable"]],
    ["null is added", {}, { nullable: null }, ["+.nullable"]],
    ["a struct is added with what is inside", {}, { struct: { x: "1" } }, ["+.struct", "+.struct.x"]],
    ["a struct is removed with what is inside", { struct: { x: "1" } }, {}, ["-.struct", "-.struct.x"]],
    ["an empty struct is added", {}, { struct: {} }, ["+.struct"]],
    ["a field comes into an empty struct", { struct: {} }, { struct: { x: "1" } }, ["+.struct.x"]],
    ["the last field leaves a struct", { struct: { x: "1" } }, { struct: {} }, ["-.struct.x"]],
    ["null becomes a struct with fields", { struct: null }, { struct: { x: "1" } }, ["+.struct.x"]],
    ["a struct with fields becomes null", { struct: { x: "1" } }, { struct: null }, ["-.struct.x"]],
    ["null becomes an empty struct", { struct: null }, { struct: {} }, ["~.struct"]],
    ["an empty list becomes null", { keyed: [] }, { keyed: null }, ["~.keyed"]],
    ["null becomes a list with items", { set: null }, { set: ["x"] }, ['+.set[="x"]']],
    ["a key of a map", { map: { k: "1", l: "1" } }, { map: { k: "2", m: "1" } }, ["+.map.m", "~.map.k", "-.map.l"]],
    ["an atomic map changes as a whole", { atomicMap: { k: "1" } }, { atomicMap: { k: "1", l: "1" } }, ["~.atomicMap"]],
    ["an atomic struct is added", {}, { atomicStruct: { x: "1" } }, ["+.atomicStruct"]],
    ["a list changes as a whole", { list: [{ name: "i" }] }, { list: [] }, ["~.list"]],
    ["an atomic list in another order", { atomicList: ["x", "y"] }, { atomicList: ["y", "x"] }, ["~.atomicList"]],
    ["an item is added", { keyed: [] }, { keyed: [i] }, [`+${itemI}`, `+${itemI}.name`]],
    ["an item is removed", { keyed: [i, { name: "j" }] }, { keyed: [{ name: "j" }] }, [`-${itemI}`, `-${itemI}.name`]],
    ["a keyed list is added", {}, { keyed: [i] }, ["+.keyed", `+${itemI}`, `+${itemI}.name`]],
    ["an empty keyed list is added", {}, { keyed: [] }, ["+.keyed"]],
    ["a field of an item", { keyed: [{ ...i, value: "1" }] }, { keyed: [{ ...i, value: "2" }] }, [`~${itemI}.value`]],
    ["items in another order are the same", { keyed: [i, { name: "j" }] }, { keyed: [{ name: "j" }, i] }, []],
    [
      "an item's key may be completed by a default",
      { ports: [{ port: 80 }] },
      { ports: [{ port: 80, protocol: "TCP" }] },
      ['+.ports[port=80,protocol="TCP"].protocol'],
    ],
    ["values of a set", { set: ["x", "y"] }, { set: ["y", "z"] }, ['+.set[="z"]', '-.set[="x"]']],
    ["a set in another order is the same", { set: ["x", "y"] }, { set: ["y", "x"] }, []],
    [
      "two items of one key, one of them different",
      { keyed: [i, i] },
      { keyed: [i, { ...i, value: "1" }] },
      [`~${itemI}`],
    ],
    ["two items of one key stay", { keyed: [i, i] }, { keyed: [{ ...i }, { ...i }] }, []],
    [
      "one item becomes two of one key",
      { keyed: [i] },
      { keyed: [i, i] },
      [`+${itemI}`, `-${itemI}`, `-${itemI}.name`],
    ],
    [
      "two items of one key become one",
      { keyed: [i, i] },
      { keyed: [i] },
      [`+${itemI}`, `+${itemI}.name`, `-${itemI}`],
    ],
    ["two items of one key go", { keyed: [i, i] }, { keyed: [] }, [`-${itemI}`]],
    ["an unknown object becomes a scalar", { any: { k: { l: 1 } } }, { any: { k: 1 } }, ["~.any.k", "-.any.k.l"]],
    ["an unknown scalar becomes an object", { any: { k: 1 } }, { any: { k: { l: 1 } } }, ["+.any.k.l", "~.any.k"]],
    ["an unknown object becomes a list", { any: { k: { l: 1 } } }, { any: { k: [1] } }, ["~.any.k", "-.any.k.l"]],
    ["an int or string changes its type", { intOrString: 5 }, { intOrString: "5" }, ["~.intOrString"]],
  ])("%s", (_name, old, next, expected) => {
    expect(changes(old, next)).toEqual(expected);
  });

  test("names that objects inherit are names", () => {
    const map = JSON.parse('{"__proto__":"1","toString":"1"}') as JsonObject;
    expect(changes({ map: {} }, { map })).toEqual(["+.map.__proto__", "+.map.toString"]);
    expect(changes({ map }, { map: {} })).toEqual(["-.map.__proto__", "-.map.toString"]);
  });

  test("two equal objects are the same", () => {
    expect(isSame(compare(objectWith({ a: "1" }), objectWith({ a: "1" }), testType))).toBe(true);
    expect(isSame(compare(objectWith({ a: "1" }), objectWith({ a: "2" }), testType))).toBe(false);
  });
});

test("a struct that a built-in kind always has is not added by its first field", () => {
  const type = builtInTypeNode(definitionNames.job);
  const { added } = compare({}, { metadata: { labels: { a: "1" } }, spec: { parallelism: 1 } }, type);
  expect(printed(added)).toEqual([".metadata.labels", ".metadata.labels.a", ".spec.parallelism"]);
});

test("objects as deep as documents may be are compared", () => {
  const deep = (end: string): JsonObject => {
    let value: JsonObject = { end };
    for (let depth = 0; depth < 1000; depth++) value = { k: value };
    return { any: value };
  };
  expect(changes(deep("1"), deep("2"))).toEqual([`~.any${".k".repeat(1000)}.end`]);
});
