import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { definitionNames } from "#kernel/specs/index.ts";
import { readApplied } from "./applied-document.ts";
import { objectWith, testType } from "./testing/world.ts";
import { builtInTypeNode } from "./type-node.ts";

const read = (spec: JsonObject) => readApplied(objectWith(spec), testType);

describe("null counts as absent", () => {
  test.each<[string, JsonObject, JsonObject]>([
    ["a field", { a: null, b: "1" }, { b: "1" }],
    ["a field that may be null", { nullable: null }, {}],
    ["inside a struct", { struct: { x: null } }, { struct: {} }],
    ["a key of a map", { map: { k: null, l: "1" } }, { map: { l: "1" } }],
    ["inside an item", { keyed: [{ name: "i", value: null }] }, { keyed: [{ name: "i" }] }],
    ["inside unknown objects", { any: { k: null } }, { any: {} }],
    [
      "not inside a leaf",
      { atomicMap: { k: null }, list: [{ value: null }] },
      { atomicMap: { k: null }, list: [{ value: null }] },
    ],
    [
      "a member called __proto__",
      JSON.parse('{"map":{"__proto__":"1","k":null}}') as JsonObject,
      JSON.parse('{"map":{"__proto__":"1"}}') as JsonObject,
    ],
  ])("%s", (_name, spec, expected) => {
    const { object, causes } = read(spec);
    expect(JSON.stringify(object["spec"])).toBe(JSON.stringify(expected));
    expect(causes).toEqual([]);
  });

  test("a document without null is itself", () => {
    const document = objectWith({ a: "1", keyed: [{ name: "i" }] });
    expect(readApplied(document, testType).object).toBe(document);
  });
});

describe("items", () => {
  test.each<[string, JsonObject, readonly (readonly [string, string])[]]>([
    [
      "a key that is missing",
      { keyed: [{ name: "i" }, { value: "1" }] },
      [["spec.keyed[1]", "Required value: the item must have its key (name)"]],
    ],
    [
      "an item that is no object",
      { keyed: ["x"] },
      [["spec.keyed[0]", "Required value: the item must have its key (name)"]],
    ],
    [
      "an item that is null",
      { keyed: [null] },
      [["spec.keyed[0]", "Required value: the item must have its key (name)"]],
    ],
    [
      "a key twice",
      { keyed: [{ name: "i" }, { name: "j" }, { name: "i" }] },
      [["spec.keyed[2]", 'Duplicate value: [name="i"]']],
    ],
    [
      "a key twice, once by default",
      { ports: [{ port: 80 }, { port: 80, protocol: "TCP" }] },
      [["spec.ports[1]", 'Duplicate value: [port=80,protocol="TCP"]']],
    ],
    ["a value twice in a set", { set: ["x", "x"] }, [["spec.set[1]", 'Duplicate value: [="x"]']]],
    ["an object in a set", { set: [{}] }, [["spec.set[0]", "Invalid value: items of a set must be scalars"]]],
    ["null in a set", { set: [null] }, [["spec.set[0]", "Invalid value: items of a set must be scalars"]]],
    [
      "an item in an item",
      { keyed: [{ name: "i", inner: [{}] }] },
      [["spec.keyed[0].inner[0]", "Required value: the item must have its key (id)"]],
    ],
    [
      "everything at once",
      { keyed: [{}, { name: "i" }, { name: "i" }], set: ["x", "x"] },
      [
        ["spec.keyed[0]", "Required value: the item must have its key (name)"],
        ["spec.keyed[2]", 'Duplicate value: [name="i"]'],
        ["spec.set[1]", 'Duplicate value: [="x"]'],
      ],
    ],
    ["lists without keys may repeat", { list: [{ name: "i" }, { name: "i" }], atomicList: ["x", "x"] }, []],
    ["one key field may be missing when another is there", { ports: [{ protocol: "UDP" }] }, []],
  ])("%s", (_name, spec, expected) => {
    expect(read(spec).causes.map(({ field, message }) => [field, message])).toEqual(expected);
  });

  test("containers of one name in a Pod", () => {
    const pod = { spec: { containers: [{ name: "c" }, { name: "c" }] } };
    const { causes } = readApplied(pod, builtInTypeNode(definitionNames.pod));
    expect(causes).toEqual([
      { reason: "FieldValueDuplicate", field: "spec.containers[1]", message: 'Duplicate value: [name="c"]' },
    ]);
  });
});
