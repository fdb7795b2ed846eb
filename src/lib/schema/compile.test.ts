import { describe, expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { compileSchema, type Schema } from "./index.ts";

const object = (properties: Readonly<Record<string, Schema>>, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...more,
});
const text: Schema = { type: "string" };
const int: Schema = { type: "integer" };

describe("pruning", () => {
  const cases: [string, Schema, JsonValue, JsonValue, string[]][] = [
    ["drops and names unknown members", object({ a: text }), { a: "x", b: 1 }, { a: "x" }, ["b"]],
    ["reaches into nested objects", object({ a: object({ b: text }) }), { a: { c: 1 } }, { a: {} }, ["a.c"]],
    [
      "reaches into items",
      object({ l: { type: "array", items: object({}) } }),
      { l: [{ x: 1 }] },
      { l: [{}] },
      ["l[0].x"],
    ],
    [
      "reaches into values of maps",
      object({ m: { type: "object", additionalProperties: object({}) } }),
      { m: { "a.b": { x: 1 } } },
      { m: { "a.b": {} } },
      ["m[a.b].x"],
    ],
    [
      "keeps everything under preserve-unknown-fields",
      object({ a: text }, { "x-kubernetes-preserve-unknown-fields": true }),
      { a: "x", b: { c: null } },
      { a: "x", b: { c: null } },
      [],
    ],
    [
      "still prunes declared members under preserve-unknown-fields",
      object({ a: object({}) }, { "x-kubernetes-preserve-unknown-fields": true }),
      { a: { z: 1 }, b: 1 },
      { a: {}, b: 1 },
      ["a.z"],
    ],
    [
      "keeps the envelope of an embedded object",
      object({ e: { type: "object", "x-kubernetes-embedded-resource": true, properties: { spec: object({}) } } }),
      { e: { apiVersion: "v1", kind: "X", metadata: { name: "n" }, spec: { q: 1 }, other: 1 } },
      { e: { apiVersion: "v1", kind: "X", metadata: { name: "n" }, spec: {} } },
      ["e.spec.q", "e.other"],
    ],
    [
      "drops null where null means nothing, without complaint",
      object({ a: text, b: text }),
      { a: null, b: "x" },
      { b: "x" },
      [],
    ],
    [
      "puts a default in the place of null in lists and maps",
      object({
        l: { type: "array", items: { ...text, default: "x" } },
        m: { type: "object", additionalProperties: { ...text, default: "y" } },
      }),
      { l: [null, "a"], m: { a: null } },
      { l: ["x", "a"], m: { a: "y" } },
      [],
    ],
    ["keeps null where it is allowed", object({ a: { ...text, nullable: true } }), { a: null }, { a: null }, []],
    ["leaves values of the wrong type to validation", object({ a: object({}) }), { a: [1] }, { a: [1] }, []],
    [
      "drops all of an object in the place of a text or a list, of which validation tells",
      object({ a: text, l: { type: "array", items: text } }),
      { a: { b: 1 }, l: [{ c: 1 }, "x"] },
      { a: {}, l: [{}, "x"] },
      [],
    ],
    [
      "keeps an object in the place of a text that preserves unknown fields",
      object({ a: { ...text, "x-kubernetes-preserve-unknown-fields": true } }),
      { a: { b: 1 } },
      { a: { b: 1 } },
      [],
    ],
    [
      "drops all of an object without properties",
      object({ a: { type: "object" } }),
      { a: { b: 1 } },
      { a: {} },
      ["a.b"],
    ],
  ];
  test.each(cases)("%s", (_, schema, value, expected, unknown) => {
    expect(compileSchema(schema).prune(value)).toEqual({ value: expected, unknown });
  });

  test("brings texts into their canonical form, and leaves what cannot be read", () => {
    const times = { type: "array", items: { type: "string", format: "kubernetes-time" } } as const;
    const value = { at: ["2026-01-31T12:00:00.5Z", "yesterday", 7, ""], other: "yesterday" };
    expect(compileSchema(object({ at: times, other: { type: "string", format: "date-time" } })).prune(value)).toEqual({
      value: { at: ["2026-01-31T12:00:00Z", "yesterday", 7, ""], other: "yesterday" },
      unknown: [],
    });
  });

  test("a value without anything to drop is returned itself", () => {
    const value = { a: "x", l: [{ b: 1 }] };
    const schema = object({ a: text, l: { type: "array", items: object({ b: int }) } });
    expect(compileSchema(schema).prune(value).value).toBe(value);
  });

  test("a part that the known value has in the same place is not looked at, any other is", () => {
    const schema = object({ a: object({ b: text }), l: { type: "array", items: object({ b: text }) } });
    const kept = { b: "x", stranger: 1 };
    const { value, unknown } = compileSchema(schema).prune({ a: kept, l: [kept, { ...kept }] }, { a: kept, l: [kept] });
    expect(value).toEqual({ a: kept, l: [kept, { b: "x" }] });
    expect(unknown).toEqual(["l[1].stranger"]);
    expect(compileSchema(schema).prune({ a: kept }, { l: kept, a: { b: "x" } }).unknown).toEqual(["a.stranger"]);
  });

  test("members named like parts of JavaScript are data", () => {
    const value = JSON.parse('{"m":{"__proto__":{"a":"x"},"constructor":{"a":"y"}},"x":1}') as JsonValue;
    const schema = object({ m: { type: "object", additionalProperties: object({ a: text }) } });
    const pruned = compileSchema(schema).prune(value);
    expect(JSON.stringify(pruned.value)).toBe('{"m":{"__proto__":{"a":"x"},"constructor":{"a":"y"}}}');
    expect(pruned.unknown).toEqual(["x"]);
    expect(compileSchema(object({})).prune(JSON.parse('{"__proto__":1}') as JsonValue).unknown).toEqual(["__proto__"]);
  });
});

describe("defaults", () => {
  const cases: [string, Schema, JsonValue, JsonValue][] = [
    ["fill what is absent", object({ a: { ...int, default: 3 } }), {}, { a: 3 }],
    ["leave what is present", object({ a: { ...int, default: 3 } }), { a: 0 }, { a: 0 }],
    ["replace a null that means nothing", object({ a: { ...int, default: 3 } }), { a: null }, { a: 3 }],
    ["leave a null that is allowed", object({ a: { ...int, default: 3, nullable: true } }), { a: null }, { a: null }],
    ["do not make their parent appear", object({ p: object({ a: { ...int, default: 3 } }) }), {}, {}],
    [
      "are filled in from the top down",
      object({ p: object({ a: { ...int, default: 3 } }, { default: {} }) }),
      {},
      { p: { a: 3 } },
    ],
    [
      "reach items and values of maps",
      object({
        l: { type: "array", items: object({ a: { ...int, default: 1 } }) },
        m: { type: "object", additionalProperties: object({ b: { ...text, default: "x" } }) },
      }),
      { l: [{}, { a: 2 }], m: { k: {} } },
      { l: [{ a: 1 }, { a: 2 }], m: { k: { b: "x" } } },
    ],
  ];
  test.each(cases)("%s", (_, schema, value, expected) => {
    expect(compileSchema(schema).withDefaults(value)).toEqual(expected);
  });

  test("a value with nothing absent is returned itself", () => {
    const value = { a: 1 };
    expect(compileSchema(object({ a: { ...int, default: 3 } })).withDefaults(value)).toBe(value);
  });
});

describe("validation", () => {
  const check = (schema: Schema, value: JsonValue) =>
    compileSchema(schema)
      .validate(value)
      .map(({ reason, field, message }) => `${reason} ${field}: ${message}`);

  const on = (schema: Schema): Schema => object({ x: schema });
  const cases: [Schema, JsonValue, string[]][] = [
    [text, 5, ["FieldValueTypeInvalid x: Invalid value: 5: must be of type string, not integer"]],
    [int, 1.5, ["FieldValueTypeInvalid x: Invalid value: 1.5: must be of type integer, not number"]],
    [
      { type: "array", items: text },
      {},
      ["FieldValueTypeInvalid x: Invalid value: {}: must be of type array, not object"],
    ],
    [{ type: "object" }, [], ["FieldValueTypeInvalid x: Invalid value: []: must be of type object, not array"]],
    [{ type: "boolean" }, null, ["FieldValueTypeInvalid x: Invalid value: null: must be of type boolean, not null"]],
    [{ type: "boolean", nullable: true }, null, []],
    [{ "x-kubernetes-int-or-string": true }, "5%", []],
    [
      { "x-kubernetes-int-or-string": true },
      1.5,
      ["FieldValueTypeInvalid x: Invalid value: 1.5: must be of type integer or string, not number"],
    ],
    [
      { ...text, enum: ["a", "b"] },
      "c",
      ['FieldValueNotSupported x: Unsupported value: "c": supported values: "a", "b"'],
    ],
    [{ ...int, minimum: 1 }, 0, ["FieldValueInvalid x: Invalid value: 0: must be greater than or equal to 1"]],
    [
      { ...int, minimum: 1, exclusiveMinimum: true },
      1,
      ["FieldValueInvalid x: Invalid value: 1: must be greater than 1"],
    ],
    [{ ...int, maximum: 1 }, 2, ["FieldValueInvalid x: Invalid value: 2: must be less than or equal to 1"]],
    [{ ...int, maximum: 1, exclusiveMaximum: true }, 1, ["FieldValueInvalid x: Invalid value: 1: must be less than 1"]],
    [{ type: "number", multipleOf: 0.1 }, 0.3, []],
    [
      { type: "number", multipleOf: 0.1 },
      0.35,
      ["FieldValueInvalid x: Invalid value: 0.35: must be a multiple of 0.1"],
    ],
    [{ ...int, format: "int32" }, 2 ** 31, ["FieldValueInvalid x: Invalid value: 2147483648: must fit into 32 bits"]],
    [{ ...text, minLength: 2 }, "💥", ['FieldValueInvalid x: Invalid value: "💥": must be at least 2 characters long']],
    [{ ...text, maxLength: 1 }, "💥", []],
    [{ ...text, maxLength: 1 }, "ab", ["FieldValueTooLong x: Too long: may not be more than 1 characters"]],
    [{ ...text, pattern: "^a+$" }, "b", ['FieldValueInvalid x: Invalid value: "b": must match the pattern "^a+$"']],
    [{ ...text, pattern: "^(a+)+$" }, `${"a".repeat(200)}!`, [expect.stringContaining("must match the pattern")]],
    [{ ...text, format: "date-time" }, "yesterday", [expect.stringContaining("RFC 3339")]],
    [{ ...text, format: "unheard-of" }, "x", []],
    [
      { type: "array", items: text, minItems: 1 },
      [],
      ["FieldValueInvalid x: Invalid value: []: must have at least 1 items"],
    ],
    [
      { type: "array", items: text, maxItems: 1 },
      ["a", "b"],
      ["FieldValueTooMany x: Too many: 2: must have at most 1 items"],
    ],
    [
      { type: "array", items: int },
      [1, "b"],
      ['FieldValueTypeInvalid x[1]: Invalid value: "b": must be of type integer, not string'],
    ],
    [
      { type: "array", items: text, "x-kubernetes-list-type": "set" },
      ["a", "b", "a"],
      ['FieldValueDuplicate x[2]: Duplicate value: "a"'],
    ],
    [
      {
        type: "array",
        items: object({ name: text }),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
      },
      [{ name: "a" }, { name: "a" }],
      ['FieldValueDuplicate x[1]: Duplicate value: {"name":"a"}'],
    ],
    [object({ a: text }, { required: ["a", "b"] }), { a: "" }, ["FieldValueRequired x.b: Required value"]],
    [
      { type: "object", additionalProperties: int, maxProperties: 1 },
      { a: 1, b: 2 },
      ["FieldValueTooMany x: Too many: 2: must have at most 1 items"],
    ],
    [
      { type: "object", additionalProperties: int },
      { "k.l": "v" },
      ['FieldValueTypeInvalid x[k.l]: Invalid value: "v": must be of type integer, not string'],
    ],
    [{ ...text, allOf: [{ minLength: 2 }, { maxLength: 3 }] }, "a", [expect.stringContaining("at least 2")]],
    [{ ...text, anyOf: [{ minLength: 9 }, { enum: ["a"] }] }, "a", []],
    [{ ...text, anyOf: [{ minLength: 9 }, { enum: ["b"] }] }, "a", [expect.stringContaining("anyOf")]],
    [{ ...text, oneOf: [{ minLength: 1 }, { maxLength: 9 }] }, "a", [expect.stringContaining("oneOf")]],
    [{ ...text, not: { enum: ["a"] } }, "a", [expect.stringContaining("not")]],
    [
      { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
      { apiVersion: "v1", metadata: 5 },
      [
        "FieldValueRequired x.kind: Required value: must not be empty",
        "FieldValueTypeInvalid x.metadata: Invalid value: 5: must be an object",
      ],
    ],
  ];
  test.each(cases)("%j against %j", (schema, value, expected) => {
    expect(check(on(schema), { x: value })).toEqual(expected);
  });

  test("all errors come at once, but no more than a hundred", () => {
    expect(check(object({ a: int, b: int }), { a: "x", b: "y" })).toHaveLength(2);
    const many = Array.from({ length: 500 }, () => "x");
    expect(check(on({ type: "array", items: int }), { x: many })).toHaveLength(100);
  });

  test("a long value is cut in messages", () => {
    const [error] = check(on({ ...text, pattern: "^$" }), { x: "y".repeat(10_000) });
    expect(error?.length).toBeLessThan(400);
  });

  test.each<readonly [string, Schema, JsonValue]>([
    ["one text", { ...text, pattern: "[a-z]{900}$" }, "a".repeat(1_000_000)],
    [
      "many texts",
      { type: "array", items: { ...text, pattern: "^[a-z]{900}$" } },
      Array.from({ length: 3_000 }, (_, n) => `${"a".repeat(100)}${n}`),
    ],
    ["a text that must not match", { not: { pattern: "[a-z]{900}$" } }, "a".repeat(1_000_000)],
  ])("patterns that would take too long are given up, and the object with them: %s", (_, schema, value) => {
    expect(check(on(schema), { x: value })).toContain(
      "FieldValueForbidden : Forbidden: matching the patterns of its schema takes too long",
    );
  });

  test("an ordinary large object is within the bound for patterns", () => {
    const name = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
    const names = Array.from({ length: 20_000 }, (_, n) => `name-${n}.example.com`);
    expect(check(on({ type: "array", items: { ...text, pattern: `^${name}$` } }), { x: names })).toEqual([]);
  });

  test("errors in what did not change are left out of an update", () => {
    const item = object({ name: text, n: { ...int, minimum: 5 } });
    const list = (type: "atomic" | "map"): Schema => ({
      type: "array",
      items: item,
      "x-kubernetes-list-type": type,
      ...(type === "map" ? { "x-kubernetes-list-map-keys": ["name"] } : {}),
    });
    const old = {
      a: -1,
      l: [
        { name: "p", n: 1 },
        { name: "q", n: 1 },
      ],
    };
    const next = {
      a: -1,
      b: "new",
      l: [
        { name: "q", n: 1 },
        { name: "r", n: 1 },
      ],
    };
    const fields = (type: "atomic" | "map") =>
      compileSchema(object({ a: { ...int, minimum: 0 }, b: text, l: list(type) }))
        .validate(next, { old })
        .map((error) => error.field);
    expect(fields("map")).toEqual(["l[1].n"]);
    expect(fields("atomic")).toEqual(["l[0].n", "l[1].n"]);
  });

  test("recursive definitions are followed as deep as the value goes", () => {
    const definitions: Record<string, Schema> = { Node: object({ next: { $ref: "Node" }, n: int }) };
    const compiled = compileSchema({ $ref: "Node" }, { resolve: (ref) => definitions[ref] });
    expect(compiled.validate({ next: { next: { n: "x" } } }).map((error) => error.field)).toEqual(["next.next.n"]);
    expect(compiled.prune({ next: { next: { m: 1 } } }).unknown).toEqual(["next.next.m"]);
    const value = { next: {} };
    expect(compiled.withDefaults(value)).toBe(value);
  });
});
