import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { readStructuralSchema, rulesOf } from "./index.ts";

const object = (properties: Record<string, JsonValue>, more: Record<string, JsonValue> = {}): JsonObject => ({
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
    [
      "the envelope, with its types",
      object({ apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { type: "object" } }),
    ],
    ["additionalProperties: false", object({ a: { type: "object", additionalProperties: false } })],
    [
      "properties beside additionalProperties, where one of them says nothing",
      object({
        a: { type: "object", properties: {}, additionalProperties: { type: "string" } },
        b: { type: "object", properties: { c: { type: "string" } }, additionalProperties: true },
      }),
    ],
    ["an int-or-string with a type", object({ a: { type: "string", "x-kubernetes-int-or-string": true } })],
    [
      "an int-or-string that repeats its types",
      object({
        a: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
        b: {
          "x-kubernetes-int-or-string": true,
          allOf: [{ anyOf: [{ type: "integer" }, { type: "string" }] }, { pattern: "x" }],
        },
      }),
    ],
    [
      "nothing said inside a junctor",
      object({ a: { type: "string", anyOf: [{ nullable: false, description: "", pattern: "x" }] } }),
    ],
    [
      "metadata of an embedded resource",
      object({
        a: {
          ...object({ metadata: object({ labels: { type: "object", additionalProperties: { type: "string" } } }) }),
          "x-kubernetes-embedded-resource": true,
        },
      }),
    ],
    [
      "members that only junctors below the root know",
      object({ a: object({ b: { type: "string" } }, { oneOf: [{ required: ["c"], properties: { c: {} } }] }) }),
    ],
    [
      "a set of objects that are replaced whole",
      object({
        a: {
          type: "array",
          items: { ...object({}), "x-kubernetes-map-type": "atomic" },
          "x-kubernetes-list-type": "set",
        },
      }),
    ],
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
      "properties beside additionalProperties",
      object({
        a: { type: "object", properties: { b: { type: "string" } }, additionalProperties: { type: "string" } },
      }),
      ["Forbidden properties.a.additionalProperties"],
    ],
    [
      "additionalProperties and null at the root",
      { type: "object", additionalProperties: { type: "string" }, nullable: true },
      ["Forbidden additionalProperties", "Forbidden nullable"],
    ],
    [
      "a default that only the defaults inside it would make valid",
      object({ p: object({ q: { type: "string", default: "x" } }, { required: ["q"], default: {} }) }),
      ["Required properties.p.default.q"],
    ],
    [
      "types in a junctor that do not repeat an int-or-string",
      object({
        a: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "string" }, { type: "integer" }] },
        b: { "x-kubernetes-int-or-string": true, allOf: [{}, { anyOf: [{ type: "integer" }, { type: "string" }] }] },
      }),
      [
        "Forbidden properties.a.anyOf[0].type",
        "Forbidden properties.a.anyOf[1].type",
        "Forbidden properties.b.allOf[1].anyOf[0].type",
        "Forbidden properties.b.allOf[1].anyOf[1].type",
      ],
    ],
    [
      "rules and metadata inside a junctor",
      object({
        a: { type: "object", not: { "x-kubernetes-validations": [{ rule: "true" }], properties: { metadata: {} } } },
      }),
      ["Forbidden properties.a.not.x-kubernetes-validations", "Forbidden properties.a.not.properties.metadata"],
    ],
    [
      "members that only junctors of the root know",
      object(
        { a: object({}), l: { type: "object" } },
        {
          anyOf: [
            { properties: { b: {}, a: { properties: { c: {} } } } },
            { allOf: [{ properties: { l: { items: {} } } }] },
          ],
        },
      ),
      ["Required properties.b", "Required properties.a.properties.c", "Required properties.l.items"],
    ],
    [
      "an embedded resource of which nothing is known",
      object({
        a: { type: "object", "x-kubernetes-embedded-resource": true },
        b: { type: "object", "x-kubernetes-embedded-resource": true, additionalProperties: { type: "string" } },
        c: { "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
      }),
      [
        "Required properties.a.properties",
        "Forbidden properties.b.additionalProperties",
        "Required properties.b.properties",
        "Required properties.c.type",
      ],
    ],
    [
      "an envelope of other types",
      object({
        apiVersion: { type: "integer" },
        a: { ...object({ metadata: { type: "string" } }), "x-kubernetes-embedded-resource": true },
      }),
      ["Invalid properties.apiVersion.type", "Invalid properties.a.properties.metadata.type"],
    ],
    [
      "defaults in the envelope, and a described metadata",
      object({
        kind: { type: "string", default: "x" },
        metadata: { ...object({ name: { type: "string", default: "x" } }), description: "x" },
      }),
      [
        "Forbidden properties.kind.default",
        "Forbidden properties.metadata.properties.name.default",
        "Forbidden properties.metadata.description",
      ],
    ],
    [
      "a map type on what is no object",
      object({ a: { type: "string", "x-kubernetes-map-type": "atomic" } }),
      ["Invalid properties.a.type"],
    ],
    [
      "sets of what is not replaced whole, and of null",
      object({
        a: { type: "array", items: object({}), "x-kubernetes-list-type": "set" },
        b: {
          type: "array",
          items: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
          "x-kubernetes-list-type": "set",
        },
        c: { type: "array", items: { type: "string", nullable: true }, "x-kubernetes-list-type": "set" },
      }),
      [
        "Invalid properties.a.items.x-kubernetes-map-type",
        "Invalid properties.b.items.x-kubernetes-list-type",
        "Forbidden properties.c.items.nullable",
      ],
    ],
    [
      "keys twice, keys that may be null, keys of no keyed list",
      object({
        a: {
          type: "array",
          items: object({ k: { type: "string", nullable: true } }, { required: ["k"] }),
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["k", "k"],
        },
        b: { type: "array", items: object({}), "x-kubernetes-list-map-keys": ["k"] },
      }),
      [
        "Invalid properties.a.x-kubernetes-list-map-keys",
        "Forbidden properties.a.items.properties.k.nullable",
        "Forbidden properties.a.items.properties.k.nullable",
        "Required properties.b.x-kubernetes-list-type",
      ],
    ],
    [
      "rules whose texts are wrong",
      object({
        a: {
          ...object({ b: { type: "string" } }),
          "x-kubernetes-validations": [
            { rule: " " },
            { rule: "true", message: " " },
            { rule: "true", message: "a\nb" },
            { rule: "true\n" },
            { rule: "true\n|| true" },
            { rule: "true", messageExpression: " ", reason: "Because" },
            { rule: "true", fieldPath: ".c" },
            { rule: "true", fieldPath: ".b[0]" },
            { rule: "true", fieldPath: ".b" },
          ],
        },
      }),
      [
        "Required 0.rule",
        "Invalid 1.message",
        "Invalid 2.message",
        "Required 4.message",
        "Required 5.messageExpression",
        "NotSupported 5.reason",
        "Invalid 6.fieldPath",
        "Invalid 7.fieldPath",
      ].map((text) => text.replace(/(\d)/, "properties.a.x-kubernetes-validations[$1]")),
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
      ["Invalid properties.l.x-kubernetes-list-map-keys"],
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
      ["Invalid properties.a.type"],
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
