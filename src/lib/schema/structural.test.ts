import { describe, expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { readStructuralSchema, rulesOf } from "./index.ts";

const object = (properties: Record<string, JsonValue>, more: Record<string, JsonValue> = {}): JsonValue => ({
  type: "object",
  properties,
  ...more,
});

const errorsOf = (schema: JsonValue): readonly string[] => {
  const read = readStructuralSchema(schema, []);
  return read.ok ? [] : read.error.map(({ reason, field }) => `${reason.replace("FieldValue", "")} ${field}`);
};

describe("accepted", () => {
  const cases: [string, JsonValue][] = [
    ["plain fields of every type", object({ a: { type: "string" }, b: { type: "array", items: { type: "integer" } } })],
    [
      "an int-or-string as controllers generate it",
      object({ p: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] } }),
    ],
    [
      "the same with a pattern in allOf",
      object({
        p: {
          "x-kubernetes-int-or-string": true,
          allOf: [{ anyOf: [{ type: "integer" }, { type: "string" }] }, { pattern: "^a$" }],
        },
      }),
    ],
    ["free-form parts", object({ any: { "x-kubernetes-preserve-unknown-fields": true } })],
    [
      "an embedded object",
      object({
        e: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
      }),
    ],
    [
      "value rules inside junctors",
      object({
        a: {
          type: "object",
          properties: { b: { type: "string" } },
          oneOf: [{ required: ["b"] }, { properties: { b: { minLength: 1 } } }],
        },
      }),
    ],
    ["the envelope with next to nothing said of it", object({ apiVersion: {}, kind: {}, metadata: {} })],
    [
      "metadata that restricts the name",
      object({ metadata: { type: "object", properties: { name: { type: "string", maxLength: 9 } } } }),
    ],
    [
      "a keyed list whose key has a default",
      object({
        l: {
          type: "array",
          items: object({ k: { type: "string", default: "x" } }),
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["k"],
        },
      }),
    ],
    [
      "a default that is filled in by the defaults inside it",
      object({ p: object({ q: { type: "string", default: "x" } }, { required: ["q"], default: {} }) }),
    ],
    [
      "properties that are named like keywords",
      object({ type: { type: "string" }, $ref: { type: "string" }, __proto: { type: "string" } }),
    ],
  ];
  test.each(cases)("%s", (_, schema) => {
    expect(errorsOf(schema)).toEqual([]);
  });
});

describe("refused", () => {
  const cases: [string, JsonValue, string[]][] = [
    ["no schema at all", 5, ["TypeInvalid "]],
    ["a root that is no object", { type: "string" }, ["Invalid type"]],
    ["a field without a type", object({ a: {} }), ["Required properties.a.type"]],
    ["an unknown type", object({ a: { type: "text" } }), ["NotSupported properties.a.type"]],
    ["a reference", object({ a: { $ref: "#/definitions/x" } }), ["Forbidden properties.a.$ref"]],
    ["definitions", object({}, { definitions: {} }), ["Forbidden definitions"]],
    ["dependencies", object({}, { dependencies: {} }), ["Forbidden dependencies"]],
    [
      "a keyword that does not exist",
      object({ a: { type: "string", minLenght: 1 } }),
      ["Forbidden properties.a.minLenght"],
    ],
    [
      "a keyword of the wrong type",
      object({ a: { type: "string", minLength: "1" } }),
      ["TypeInvalid properties.a.minLength"],
    ],
    ["a negative length", object({ a: { type: "string", minLength: -1 } }), ["TypeInvalid properties.a.minLength"]],
    ["properties that are no schemas", object({ a: 1 }), ["TypeInvalid properties"]],
    [
      "uniqueItems",
      object({ a: { type: "array", items: { type: "string" }, uniqueItems: true } }),
      ["Forbidden properties.a.uniqueItems"],
    ],
    [
      "additionalProperties: false",
      object({ a: { type: "object", additionalProperties: false } }),
      ["Forbidden properties.a.additionalProperties"],
    ],
    [
      "properties beside additionalProperties",
      object({ a: { type: "object", properties: {}, additionalProperties: { type: "string" } } }),
      ["Forbidden properties.a.additionalProperties"],
    ],
    ["an array without items", object({ a: { type: "array" } }), ["Required properties.a.items"]],
    [
      "a type inside a junctor",
      object({ a: { type: "string", allOf: [{ type: "string" }] } }),
      ["Forbidden properties.a.allOf[0].type"],
    ],
    [
      "a default and a description inside a junctor",
      object({ a: { type: "string", not: { default: "x", description: "y" } } }),
      ["Forbidden properties.a.not.default", "Forbidden properties.a.not.description"],
    ],
    [
      "an int-or-string with a type",
      object({ a: { type: "string", "x-kubernetes-int-or-string": true } }),
      ["Forbidden properties.a.type"],
    ],
    ["a pattern that is no RE2", object({ a: { type: "string", pattern: "(?=x)" } }), ["Invalid properties.a.pattern"]],
    [
      "a keyed list without keys",
      object({ l: { type: "array", items: object({}), "x-kubernetes-list-type": "map" } }),
      ["Required properties.l.x-kubernetes-list-map-keys"],
    ],
    [
      "a key that is no property",
      object({
        l: { type: "array", items: object({}), "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] },
      }),
      ["Invalid properties.l.x-kubernetes-list-map-keys[0]"],
    ],
    [
      "a key that may be absent",
      object({
        l: {
          type: "array",
          items: object({ k: { type: "string" } }),
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["k"],
        },
      }),
      ["Required properties.l.items.properties.k.default"],
    ],
    [
      "a list type on a string",
      object({ a: { type: "string", "x-kubernetes-list-type": "set" } }),
      ["Forbidden properties.a.x-kubernetes-list-type"],
    ],
    [
      "an unknown list type",
      object({ a: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "bag" } }),
      ["NotSupported properties.a.x-kubernetes-list-type"],
    ],
    [
      "metadata that restricts labels",
      object({ metadata: { type: "object", properties: { labels: { type: "object" } } } }),
      ["Forbidden properties.metadata.properties.labels"],
    ],
    [
      "a default of the wrong type",
      object({ a: { type: "integer", default: "x" } }),
      ["TypeInvalid properties.a.default"],
    ],
    [
      "a default with an unknown field",
      object({ a: object({}, { default: { b: 1 } }) }),
      ["Invalid properties.a.default"],
    ],
    [
      "a default against a rule",
      object({ a: { type: "integer", minimum: 2, default: 1 } }),
      ["Invalid properties.a.default"],
    ],
    [
      "several mistakes at once",
      object({ a: {}, b: { type: "array" } }),
      ["Required properties.a.type", "Required properties.b.items"],
    ],
  ];
  test.each(cases)("%s", (_, schema, expected) => {
    expect(errorsOf(schema)).toEqual(expected);
  });

  test("patterns that are too much together; one that stands in many places counts once", () => {
    const patterns = (count: number, patternOf: (n: number) => string): JsonValue =>
      object(
        Object.fromEntries(
          Array.from({ length: count }, (_, n) => [`p${n}`, { type: "string", pattern: patternOf(n) }]),
        ),
      );
    expect(errorsOf(patterns(20, (n) => `(a${n}){1000}`))).toEqual([]);
    expect(errorsOf(patterns(1000, (n) => `(a${n}){1000}`))).toEqual([
      expect.stringMatching(/^Invalid properties\.p\d+\.pattern$/),
    ]);
    expect(errorsOf(patterns(1000, () => "(a1){1000}"))).toEqual([]);
    expect(errorsOf(patterns(2, () => "(?=x)"))).toEqual([
      "Invalid properties.p0.pattern",
      "Invalid properties.p1.pattern",
    ]);
  });

  test("a schema that is nested too deeply", () => {
    let schema: JsonValue = { type: "string" };
    for (let depth = 0; depth < 5_000; depth++) schema = object({ a: schema });
    expect(errorsOf(schema)).toHaveLength(1);
  });
});

test("rules are found wherever a field may stand", () => {
  const rule = { "x-kubernetes-validations": [{ rule: "true" }] };
  const read = readStructuralSchema(
    object(
      {
        a: { type: "string", ...rule },
        m: { type: "object", additionalProperties: { type: "string", ...rule } },
        l: { type: "array", items: { type: "string", ...rule } },
      },
      rule,
    ),
    [],
  );
  expect(read.ok && rulesOf(read.value, []).map(({ path }) => path.join("."))).toEqual([
    "x-kubernetes-validations.0",
    "properties.a.x-kubernetes-validations.0",
    "properties.m.additionalProperties.x-kubernetes-validations.0",
    "properties.l.items.x-kubernetes-validations.0",
  ]);
});
