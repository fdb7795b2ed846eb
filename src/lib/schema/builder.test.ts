import { expect, expectTypeOf, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { readStructuralSchema, s, schemaAsJson, type Schema, type Shape, type TypeOf } from "./index.ts";

test.each<[string, Shape, Schema]>([
  [
    "a string",
    s.string({ minLength: 1, pattern: "^a", description: "d" }),
    { type: "string", minLength: 1, pattern: "^a", description: "d" },
  ],
  ["an integer", s.integer({ minimum: 0, default: 3 }), { type: "integer", format: "int64", minimum: 0, default: 3 }],
  ["a small integer", s.integer({ format: "int32" }), { type: "integer", format: "int32" }],
  ["a number", s.number(), { type: "number" }],
  ["a boolean", s.boolean({ nullable: true }), { type: "boolean", nullable: true }],
  ["words", s.oneOf("a", "b"), { type: "string", enum: ["a", "b"] }],
  ["words with options", s.oneOf(["a", "b"], { default: "a" }), { type: "string", enum: ["a", "b"], default: "a" }],
  [
    "a list",
    s.list(s.string(), { maxItems: 2 }),
    { type: "array", items: { type: "string" }, maxItems: 2, "x-kubernetes-list-type": "atomic" },
  ],
  [
    "a set",
    s.list(s.string(), { set: true }),
    { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
  ],
  [
    "a keyed list",
    s.list(s.object({ a: s.string(), b: s.string() }), { key: ["a", "b"] }),
    {
      type: "array",
      items: { type: "object", properties: { a: { type: "string" }, b: { type: "string" } }, required: ["a", "b"] },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["a", "b"],
    },
  ],
  [
    "a map",
    s.map(s.string(), { maxProperties: 3, atomic: true }),
    { type: "object", additionalProperties: { type: "string" }, maxProperties: 3, "x-kubernetes-map-type": "atomic" },
  ],
  ["a time", s.time(), { type: "string", format: "date-time" }],
  ["an int-or-string", s.intOrString(), { "x-kubernetes-int-or-string": true }],
  ["anything", s.any({ description: "d" }), { "x-kubernetes-preserve-unknown-fields": true, description: "d" }],
  ["any object", s.anyObject(), { type: "object", "x-kubernetes-preserve-unknown-fields": true }],
  [
    "an embedded object",
    s.embedded(),
    { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
  ],
  [
    "an object: required is what is neither optional nor defaulted",
    s.object({ a: s.string(), b: s.optional(s.string()), c: s.string({ default: "x" }) }, { preserveUnknown: true }),
    {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" }, c: { type: "string", default: "x" } },
      required: ["a"],
      "x-kubernetes-preserve-unknown-fields": true,
    },
  ],
  [
    "rules",
    s.string({ rules: [{ rule: "self != ''" }] }),
    { type: "string", "x-kubernetes-validations": [{ rule: "self != ''" }] },
  ],
])("%s", (_, shape, expected) => {
  expect(shape.schema).toEqual(expected);
  const inObject = s.object({ x: shape });
  expect(readStructuralSchema(schemaAsJson(inObject.schema), [])).toMatchObject({ ok: true });
});

test("types follow from shapes", () => {
  const shape = s.object({
    word: s.oneOf(["a", "b"], { description: "d" }),
    list: s.list(s.object({ n: s.integer() })),
    map: s.optional(s.map(s.scalar())),
    port: s.intOrString(),
    any: s.any(),
    object: s.embedded(),
  });
  type Value = TypeOf<typeof shape>;
  expectTypeOf<Value["word"]>().toEqualTypeOf<"a" | "b">();
  expectTypeOf<Value["list"][number]["n"]>().toEqualTypeOf<number>();
  expectTypeOf<Value["map"]>().toEqualTypeOf<Readonly<Record<string, string | number | boolean>> | undefined>();
  expectTypeOf<Value["port"]>().toEqualTypeOf<string | number>();
  expectTypeOf<Value["any"]>().toEqualTypeOf<JsonValue>();
  expectTypeOf<Value["object"]>().toEqualTypeOf<JsonObject>();
  expect(shape.schema.required).toEqual(["word", "list", "port", "any", "object"]);
});
