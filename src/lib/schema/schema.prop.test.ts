import fc from "fast-check";
import { expect, test } from "vitest";
import { isJsonObject, type JsonValue, jsonEquals } from "#lib/base/index.ts";
import { compileSchema, readStructuralSchema, type Schema, schemaAsJson } from "./index.ts";

const names = fc.constantFrom("a", "b", "c", "__proto__", "constructor");
const leaf = fc.constantFrom<Schema>(
  { type: "string" },
  { type: "string", default: "x", maxLength: 3 },
  { type: "integer", minimum: 0 },
  { type: "integer", default: 1, nullable: true },
  { type: "boolean", nullable: true },
  { "x-kubernetes-int-or-string": true },
  { "x-kubernetes-preserve-unknown-fields": true },
);

/** Structural schemas whose root is an object. */
const schemas: fc.Arbitrary<Schema> = fc.letrec<{ node: Schema; object: Schema }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    leaf,
    tie("object"),
    tie("node").map((items): Schema => ({ type: "array", items })),
    tie("node").map((additionalProperties): Schema => ({ type: "object", additionalProperties })),
  ),
  object: fc.tuple(fc.array(fc.tuple(names, tie("node")), { maxLength: 3 }), fc.boolean()).map(
    ([members, preserves]): Schema => ({
      type: "object",
      properties: Object.fromEntries(members),
      ...(preserves ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
    }),
  ),
})).object;

const values: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<JsonValue>(null, true, 0, -1, 2.5, "", "x", "long text"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.oneof(names, fc.string({ maxLength: 2 })), tie("value")), { maxLength: 4 })
      .map((members) => Object.fromEntries(members)),
  ),
})).value;

test("generated schemas are structural", () => {
  fc.assert(fc.property(schemas, (schema) => readStructuralSchema(schemaAsJson(schema), []).ok));
});

test("what was pruned before makes no difference to what becomes of a value", () => {
  fc.assert(
    fc.property(schemas, values, values, (schema, value, other) => {
      const compiled = compileSchema(schema);
      const known = compiled.prune(value).value;
      const mixed = isJsonObject(known) && isJsonObject(other) ? { ...known, ...other } : other;
      expect(compiled.prune(mixed, known)).toEqual(compiled.prune(mixed));
    }),
  );
});

test("what is pruned has nothing more to prune", () => {
  fc.assert(
    fc.property(schemas, values, (schema, value) => {
      const compiled = compileSchema(schema);
      const once = compiled.prune(value);
      const twice = compiled.prune(once.value);
      expect(twice.value).toBe(once.value);
      expect(twice.unknown).toEqual([]);
    }),
  );
});

test("what has its defaults gets no more", () => {
  fc.assert(
    fc.property(schemas, values, (schema, value) => {
      const { withDefaults } = compileSchema(schema);
      const once = withDefaults(value);
      expect(withDefaults(once)).toBe(once);
    }),
  );
});

test("defaults add nothing that pruning would drop", () => {
  fc.assert(
    fc.property(schemas, values, (schema, value) => {
      const compiled = compileSchema(schema);
      const whole = compiled.withDefaults(compiled.prune(value).value);
      expect(compiled.prune(whole).value).toBe(whole);
    }),
  );
});

test("neither changes its argument", () => {
  fc.assert(
    fc.property(schemas, values, (schema, value) => {
      const before = JSON.stringify(value);
      const compiled = compileSchema(schema);
      compiled.withDefaults(compiled.prune(value).value);
      expect(JSON.stringify(value)).toBe(before);
    }),
  );
});

test("an update that changes nothing is never refused, and no update is refused for more than a creation", () => {
  fc.assert(
    fc.property(schemas, values, values, (schema, value, old) => {
      const { validate } = compileSchema(schema);
      expect(validate(value, { old: value })).toEqual([]);
      const all = validate(value).map((error) => JSON.stringify(error));
      const left = validate(value, { old }).map((error) => JSON.stringify(error));
      expect(left.filter((error) => !all.includes(error))).toEqual([]);
    }),
  );
});

/** A change that keeps what it does not touch, as the very objects it was. */
const changed = (old: JsonValue, other: JsonValue): JsonValue =>
  isJsonObject(old) && isJsonObject(other) ? { ...old, ...other } : other;

test("an update of a valid object is judged like a new object of that content", () => {
  fc.assert(
    fc.property(schemas, values, values, (schema, first, other) => {
      const { validate, prune, withDefaults } = compileSchema(schema);
      const old = withDefaults(prune(first).value);
      fc.pre(validate(old).length === 0);
      const next = withDefaults(prune(changed(old, other), old).value);
      expect(validate(next, { old })).toEqual(validate(next));
    }),
  );
});

test("it makes no difference whether unchanged parts are the same objects or equal ones", () => {
  fc.assert(
    fc.property(schemas, values, values, (schema, old, other) => {
      const { validate, prune } = compileSchema(schema);
      const next = changed(old, other);
      const copy = structuredClone(old);
      expect(validate(next, { old })).toEqual(validate(next, { old: copy }));
      expect(prune(next, prune(old).value)).toEqual(prune(next, prune(copy).value));
    }),
  );
});

test("a value that is valid stays valid when it is written and read", () => {
  fc.assert(
    fc.property(schemas, values, (schema, value) => {
      const copy = JSON.parse(JSON.stringify(value)) as JsonValue;
      fc.pre(jsonEquals(copy, value));
      const { validate } = compileSchema(schema);
      expect(validate(copy)).toEqual(validate(value));
    }),
  );
});
