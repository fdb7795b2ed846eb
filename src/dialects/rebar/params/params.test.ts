import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { MemoryWorld } from "../testing/memory-world.ts";
import { compileSchema } from "#lib/jsonschema/index.ts";
import { aggregateParams, composeParam, findParam, type ParamOwner } from "./lookup.ts";
import { isSealed, valueErrors } from "./values.ts";

const uuid = "00000000-0000-4000-8000-000000000001";

describe("15.28 the value of a param comes from", () => {
  const world = new MemoryWorld({
    params: [{ Name: "six", Schema: { type: "string", default: "default" } }],
    profiles: [
      { Name: "global", Params: { five: "global", six: "global", four: "global" } },
      { Name: "pa", Params: { two: "pa" }, Profiles: ["nested", "pa"] },
      { Name: "nested", Params: { two: "nested", deep: "nested", three: "nested" }, Profiles: ["pa"] },
      { Name: "pb", Params: { deep: "pb", two: "pb", falsy: true } },
      { Name: "ps", Params: { four: "stage profile", three: "stage profile" } },
    ],
    stages: [{ Name: "st", Params: { three: "stage", four2: "stage" }, Profiles: ["ps"] }],
    machines: [
      {
        Uuid: uuid,
        Name: "mm",
        Stage: "st",
        Profiles: ["pa", "pb", "gone"],
        Params: { one: "machine", falsy: false, empty: "", nothing: null, zero: 0 },
      },
    ],
  });
  const owner: ParamOwner = { collection: "machines", object: world.get("machines", uuid) ?? expect.fail() };
  const value = (name: string): JsonValue | undefined => findParam(world, owner, name)?.value;

  test("1 the machine, 2 its profiles in order with those in them, 3 the stage, 4 its profiles, 5 global", () => {
    expect(["one", "two", "deep", "three", "four", "four2", "five"].map(value)).toEqual([
      "machine",
      "pa",
      "nested",
      "nested",
      "stage profile",
      "stage",
      "global",
    ]);
    expect(findParam(world, owner, "deep")).toMatchObject({ owner: "nested" });
    expect(findParam(world, owner, "one")).toMatchObject({ owner: uuid });
  });

  test("6 the default of the schema", () => {
    expect(value("six")).toBe("global");
    world.remove("profiles", "global");
    expect(findParam(world, owner, "six")).toEqual({ value: "default" });
    expect(value("none")).toBe(undefined);
    expect(value("toString")).toBe(undefined);
  });

  test("the first that has it, be it false, empty or null", () => {
    expect(["falsy", "empty", "nothing", "zero"].map(value)).toEqual([false, "", null, 0]);
    expect(aggregateParams(world, owner)).toMatchObject({ falsy: false, nothing: null, two: "pa", three: "nested" });
    expect(aggregateParams(world, owner)).not.toHaveProperty("six");
  });
});

describe("composed values", () => {
  const compose = (schema: JsonObject, own: JsonValue, inProfile: JsonValue) => {
    const world = new MemoryWorld({
      params: [{ Name: "pp", Schema: schema }],
      profiles: [{ Name: "global", Params: { pp: inProfile } }],
      stages: [{ Name: "st", Params: { pp: own } }],
    });
    return composeParam(world, { collection: "stages", object: world.get("stages", "st") ?? expect.fail() }, "pp");
  };

  test("maps are merged deeply, the more specific wins", () => {
    expect(compose({ default: { a: 0, d: 4 } }, { a: 1, b: { c: 1 } }, { a: 2, b: { c: 2, e: 2 } })).toEqual({
      ok: true,
      value: { a: 1, b: { c: 1, e: 2 }, d: 4 },
    });
  });

  test("lists are joined, the most specific first, with duplicates", () => {
    expect(compose({ default: [3] }, [1, 2], [2])).toEqual({ ok: true, value: [1, 2, 2, 3] });
  });

  test("a profile that is in itself counts once", () => {
    const world = new MemoryWorld({ profiles: [{ Name: "pr", Params: { pp: [1] }, Profiles: ["pr"] }] });
    const owner: ParamOwner = { collection: "profiles", object: world.get("profiles", "pr") ?? expect.fail() };
    expect(composeParam(world, owner, "pp")).toEqual({ ok: true, value: [1] });
  });

  test("anything else does not compose", () => {
    expect(compose({}, 1, 2)).toEqual({ ok: false, error: "Cannot compose freeform" });
    expect(compose({}, [1], { a: 1 })).toEqual({ ok: false, error: "Cannot compose freeform" });
  });
});

describe("schemas", () => {
  const judge = (schema: JsonValue, value: JsonValue): string | undefined => {
    const check = compileSchema(schema);
    return check.ok ? check.value(value) : `unusable: ${check.error}`;
  };

  test("are those of draft 4 as well", () => {
    const schema = {
      $schema: "http://json-schema.org/draft-04/schema#",
      id: "http://example.com/x",
      type: "number",
      minimum: 1,
      exclusiveMinimum: true,
      maximum: 5,
      exclusiveMaximum: false,
    };
    expect(judge(schema, 1)).toBe("must be > 1");
    expect(judge(schema, 5)).toBe(undefined);
    const named = { properties: { default: { type: "string" }, id: { type: "number" } } };
    expect(judge(named, { default: 1 })).toBe("/default must be string");
    expect(judge(named, { id: "x" })).toBe("/id must be number");
  });

  test("may have keywords of their own, and refer to their own parts, which may be recursive", () => {
    const tree = {
      isrequired: true,
      definitions: { node: { properties: { next: { $ref: "#/definitions/node" }, name: { type: "string" } } } },
      $ref: "#/definitions/node",
    };
    expect(judge(tree, { next: { next: { name: 1 } } })).toBe("/next/next/name must be string");
    expect(judge({ $ref: "http://example.com/other" }, 1)).toContain("unusable: can't resolve reference");
  });

  test("name what is allowed, and check formats", () => {
    expect(judge({ enum: ["a", "b"] }, "c")).toBe('must be equal to one of the allowed values: ["a","b"]');
    expect(judge({ format: "ipv4" }, "x")).toBe('must match format "ipv4"');
    expect(judge({ format: "unheard-of" }, "x")).toBe(undefined);
    expect(judge(true, "x")).toBe(undefined);
    expect(judge("x", "x")).toContain("unusable: expected a map");
  });

  test("have patterns that take linear time, in RE2's syntax", () => {
    expect(judge({ pattern: "^(a+)+$" }, `${"a".repeat(5_000)}!`)).toBe('must match pattern "^(a+)+$"');
    expect(judge({ patternProperties: { "^x": { type: "string" } } }, { xa: 1 })).toBe("/xa must be string");
    expect(judge({ pattern: "(?=a)" }, "a")).toContain("unusable: invalid regular expression");
    expect(judge({ pattern: "[a-z]{900}!" }, "a".repeat(100_000))).toContain("cannot be checked");
  });

  test("have a bound", () => {
    expect(judge({ allOf: Array.from({ length: 3_000 }, () => ({})) }, 1)).toContain("unusable: has more than");
    let deep: JsonObject = {};
    for (let level = 0; level < 100; level++) deep = { items: deep };
    expect(judge(deep, [])).toContain("unusable: has more than");
  });

  test("are compiled once", () => {
    const schema = { type: "string" };
    expect(compileSchema(schema)).toBe(compileSchema(schema));
  });
});

describe("values", () => {
  const world = new MemoryWorld({
    params: [
      { Name: "count", Schema: { type: "integer" } },
      { Name: "secret", Secure: true, Schema: { type: "string" } },
    ],
  });
  const sealed = { Key: "YQ==", Nonce: "YQ==", Payload: "YQ==" };

  test("that were there before are not judged again", () => {
    expect(valueErrors({ count: "x", other: 1 }, world)).toEqual(["Key 'count': invalid val 'x': must be integer"]);
    expect(valueErrors({ count: "x", other: 2 }, world, { count: "x" })).toEqual([]);
  });

  test("of secure params are sealed, and never repeated", () => {
    expect(valueErrors({ secret: sealed }, world)).toEqual([]);
    const [text] = valueErrors({ secret: "hush" }, world);
    expect(text).toContain("Key 'secret'");
    expect(text).not.toContain("hush");
    expect([{ ...sealed, Payload: "?" }, { Key: "YQ==" }, "x"].map(isSealed)).toEqual([false, false, false]);
  });
});
