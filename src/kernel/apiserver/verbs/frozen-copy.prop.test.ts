import fc from "fast-check";
import { expect, test } from "vitest";
import { deepFreeze, isJsonObject, type JsonValue, jsonEquals } from "#lib/base/index.ts";
import { frozenCopy } from "./frozen-copy.ts";

const names = fc.constantFrom("a", "b", "c", "__proto__", "constructor", "toString");
const values: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<JsonValue>(null, true, false, 0, -0, 1, 2.5, "", "x"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.array(fc.tuple(names, tie("value")), { maxLength: 3 }).map((members) => Object.fromEntries(members)),
  ),
})).value;

/** Every object and list in a value, itself included. */
function branches(value: JsonValue): readonly object[] {
  if (typeof value !== "object" || value === null) return [];
  const inner: readonly (JsonValue | undefined)[] = Array.isArray(value) ? value : Object.values(value);
  return [value, ...inner.flatMap((item) => (item === undefined ? [] : branches(item)))];
}

test("a copy says what its model says, is frozen to the bottom and shares nothing that can still change", () => {
  fc.assert(
    fc.property(values, values, (value, other) => {
      const copy = frozenCopy(value, deepFreeze(structuredClone(other)));
      expect(jsonEquals(copy, value)).toBe(true);
      const own = new Set(branches(value));
      for (const branch of branches(copy)) expect([Object.isFrozen(branch), own.has(branch)]).toEqual([true, false]);
    }),
  );
});

test("a copy of what was there before is what was there before", () => {
  fc.assert(
    fc.property(values, (value) => {
      const old = deepFreeze(structuredClone(value));
      expect(frozenCopy(value, old)).toBe(typeof old === "object" ? old : value);
    }),
  );
});

test("each member that did not change is the member of the object before", () => {
  fc.assert(
    fc.property(values, values, (value, other) => {
      fc.pre(isJsonObject(value) && isJsonObject(other));
      const old = deepFreeze(structuredClone(value));
      const copy = frozenCopy({ ...value, ...other }, old);
      if (!isJsonObject(copy) || !isJsonObject(old)) throw new Error("an object became something else");
      for (const name of Object.keys(copy)) {
        const before = Object.hasOwn(old, name) ? old[name] : undefined;
        // Of numbers only the value counts: -0 over 0 is no change, and stays -0.
        if (typeof before === "object" && jsonEquals(copy[name], before)) expect(copy[name]).toBe(before);
      }
    }),
    { examples: [[{ a: 0 }, { a: -0 }]] },
  );
});
