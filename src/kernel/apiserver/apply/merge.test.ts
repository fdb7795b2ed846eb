import { describe, expect, test } from "vitest";
import { deepFreeze, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { merge } from "./merge.ts";
import { objectWith, testType } from "./testing/world.ts";

const merged = (live: JsonObject, applied: JsonObject): JsonValue | undefined =>
  merge(deepFreeze(objectWith(live)), deepFreeze(objectWith(applied)), testType)["spec"];

const named = (letters: string) => names(...letters.split(""));
const names = (...list: readonly string[]) => list.map((name) => ({ name }));

describe("values", () => {
  test.each<[string, JsonObject, JsonObject, JsonObject]>([
    ["a field is added", { a: "1" }, { b: "2" }, { a: "1", b: "2" }],
    ["the applied value wins", { a: "1" }, { a: "2" }, { a: "2" }],
    ["structs join", { struct: { x: "1" } }, { struct: { y: "2" } }, { struct: { x: "1", y: "2" } }],
    ["an empty struct takes nothing away", { struct: { x: "1" } }, { struct: {} }, { struct: { x: "1" } }],
    ["maps join", { map: { k: "1", l: "1" } }, { map: { l: "2" } }, { map: { k: "1", l: "2" } }],
    ["atomic maps are replaced", { atomicMap: { k: "1" } }, { atomicMap: { l: "2" } }, { atomicMap: { l: "2" } }],
    ["atomic structs are replaced", { atomicStruct: { x: "1" } }, { atomicStruct: {} }, { atomicStruct: {} }],
    ["lists are replaced", { list: names("i") }, { list: names("j") }, { list: names("j") }],
    ["atomic lists are replaced", { atomicList: ["x"] }, { atomicList: [] }, { atomicList: [] }],
    ["unknown objects join", { any: { k: { l: 1 } } }, { any: { k: { m: [1] } } }, { any: { k: { l: 1, m: [1] } } }],
    ["unknown lists are replaced", { any: { k: [1, 2] } }, { any: { k: [3] } }, { any: { k: [3] } }],
    ["another shape replaces", { any: { k: { l: 1 } } }, { any: { k: 1 } }, { any: { k: 1 } }],
    ["a struct replaces null", { struct: null }, { struct: { x: "1" } }, { struct: { x: "1" } }],
    ["sets join", { set: ["x", "y"] }, { set: ["z", "y"] }, { set: ["x", "z", "y"] }],
    ["an empty keyed list takes nothing away", { keyed: names("i") }, { keyed: [] }, { keyed: names("i") }],
    ["an empty list joins nothing", {}, { keyed: [] }, { keyed: [] }],
    [
      "items join by their key",
      { keyed: [{ name: "i", value: "1", struct: { x: "1" } }] },
      { keyed: [{ name: "i", value: "2", struct: { y: "2" } }] },
      { keyed: [{ name: "i", value: "2", struct: { x: "1", y: "2" } }] },
    ],
    [
      "items in items join by their key",
      { keyed: [{ name: "i", inner: [{ id: 1, value: "1" }] }] },
      { keyed: [{ name: "i", inner: [{ id: 2 }, { id: 1, value: "2" }] }] },
      { keyed: [{ name: "i", inner: [{ id: 2 }, { id: 1, value: "2" }] }] },
    ],
    [
      "a key is completed by its default on both sides",
      { ports: [{ port: 80, protocol: "TCP", name: "http" }] },
      { ports: [{ port: 80 }, { port: 80, protocol: "UDP" }] },
      {
        ports: [
          { port: 80, protocol: "TCP", name: "http" },
          { port: 80, protocol: "UDP" },
        ],
      },
    ],
    [
      "live items of one key are replaced by the applied one",
      { keyed: [{ name: "i", value: "1" }, { name: "j" }, { name: "i", value: "2" }] },
      { keyed: [{ name: "i" }] },
      { keyed: [{ name: "i" }, { name: "j" }] },
    ],
    [
      "live items of one key that nobody applies stay",
      {
        keyed: [
          { name: "i", value: "1" },
          { name: "i", value: "2" },
        ],
      },
      { keyed: [{ name: "j" }] },
      { keyed: [{ name: "i", value: "1" }, { name: "i", value: "2" }, { name: "j" }] },
    ],
    [
      "live items without a key stay",
      { keyed: [{ value: "1" }] },
      { keyed: names("j") },
      { keyed: [{ value: "1" }, { name: "j" }] },
    ],
  ])("%s", (_name, live, applied, expected) => {
    expect(merged(live, applied)).toEqual(expected);
  });
});

describe("the order of items: live, applied, merged", () => {
  test.each([
    ["", "ab", "ab"],
    ["ab", "", "ab"],
    ["ab", "ab", "ab"],
    ["ab", "ba", "ba"],
    ["axb", "ba", "xba"],
    ["axb", "ab", "axb"],
    ["ax", "an", "axn"],
    ["axb", "anb", "axnb"],
    ["abx", "ban", "bxan"],
    ["xab", "ba", "xba"],
    ["xyz", "ab", "xyzab"],
    ["a", "nam", "nam"],
    ["xa", "na", "xna"],
    ["abcd", "dcba", "dcba"],
  ])("[%s] with [%s] is [%s]", (live, applied, expected) => {
    const list = merged({ set: live.split("") }, { set: applied.split("") });
    expect(list).toEqual({ set: expected.split("") });
    expect(merged({ keyed: named(live) }, { keyed: named(applied) })).toEqual({ keyed: named(expected) });
  });
});

describe("sharing", () => {
  test("a document that says what is there gives back the live object", () => {
    const live = objectWith({ a: "1", keyed: names("i", "j"), set: ["x", "y"], any: { k: [1] } });
    expect(merge(live, objectWith({ a: "1", keyed: names("i"), set: ["y"], any: { k: [1] } }), testType)).toBe(live);
  });

  test("parts the document does not reach are the live ones", () => {
    const live = objectWith({ struct: { x: "1" }, map: { k: "1" } });
    const result = merge(live, objectWith({ map: { k: "2" } }), testType)["spec"] as JsonObject;
    expect(result["struct"]).toBe((live["spec"] as JsonObject)["struct"]);
  });

  test("a member called __proto__ is a member", () => {
    const map = JSON.parse('{"__proto__":"1"}') as JsonObject;
    expect(JSON.stringify(merged({ map: { k: "1" } }, { map }))).toBe('{"map":{"k":"1","__proto__":"1"}}');
    expect(JSON.stringify(merged({ map }, { map: { k: "1" } }))).toBe('{"map":{"__proto__":"1","k":"1"}}');
  });
});
