import fc from "fast-check";
import { createPatch } from "rfc6902";
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import {
  applyJsonPatch,
  applyMergePatch,
  canonicalJson,
  compileJsonPath,
  compileJsonPathTemplate,
  createMergePatch,
  formatPointer,
  parseJson,
  parsePointer,
  readJson,
} from "./index.ts";

const asJson = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value));
// Numbers that this reader refuses on purpose are left out.
const leaf = fc.oneof(
  fc.string(),
  fc.constantFrom("__proto__", "constructor", ""),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }).filter((n) => !Object.is(n, -0)),
  fc.boolean(),
  fc.constant(null),
);
const key = fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom("__proto__", "constructor", "a/b", "m~n", "-", "0"));
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map((entries): JsonValue => Object.fromEntries(entries)),
  ),
}));
const object = fc.array(fc.tuple(key, value), { maxLength: 5 }).map((e): JsonObject => Object.fromEntries(e));

test("every value survives writing and reading", () => {
  fc.assert(
    fc.property(value, (json) => {
      expect(parseJson(JSON.stringify(json))).toEqual({ ok: true, value: json });
    }),
  );
});

test("reading accepts only what JSON.parse accepts, and no text makes it throw", () => {
  const soup = fc.array(
    fc.constantFrom(...Array.from('{}[]:,"\\0123456789.eE+-tfn \n'), "true", "null", '"a"', "\u0001"),
    {
      maxLength: 30,
    },
  );
  fc.assert(
    fc.property(soup, (parts) => {
      const text = parts.join("");
      const result = readJson(text);
      if (result.ok) expect(result.value.value).toEqual(JSON.parse(text));
      else if (result.error.code === "syntax") expect(() => JSON.parse(text)).toThrow(SyntaxError);
    }),
    { numRuns: runs(2_000) },
  );
});

test("a patch made of a difference turns one document into the other and leaves the first alone", () => {
  fc.assert(
    fc.property(object, object, (before, after) => {
      // The foreign library that makes the patches cannot walk through these keys.
      fc.pre(!/__proto__|constructor/.test(JSON.stringify([before, after])));
      const copy = structuredClone(before);
      const patch = asJson(createPatch(before, after));
      expect(applyJsonPatch(before, patch)).toEqual({ ok: true, value: after });
      expect(before).toEqual(copy);
    }),
  );
});

test("no patch throws, changes its document or pollutes a prototype", () => {
  const pointer = fc.oneof(fc.array(key, { maxLength: 3 }).map(formatPointer), fc.string({ maxLength: 5 }));
  const operation = fc.record(
    {
      op: fc.constantFrom("add", "remove", "replace", "move", "copy", "test", "x"),
      path: pointer,
      from: pointer,
      value,
    },
    { requiredKeys: ["op"] },
  );
  fc.assert(
    fc.property(value, fc.array(operation, { maxLength: 6 }), (document, patch) => {
      const before = JSON.stringify(document);
      applyJsonPatch(document, patch);
      expect(JSON.stringify(document)).toBe(before);
      expect(Object.keys(Object.prototype)).toEqual([]);
    }),
  );
});

test("a merge patch of a difference makes the second object out of the first", () => {
  const noNulls = (json: JsonObject): JsonObject => applyMergePatch({}, json) as JsonObject;
  fc.assert(
    fc.property(object, object, (a, b) => {
      const [before, after] = [noNulls(a), noNulls(b)];
      expect(applyMergePatch(before, createMergePatch(before, after) ?? {})).toEqual(after);
    }),
  );
});

test("the canonical form depends on the value alone", () => {
  const reversed = (json: JsonValue): JsonValue => {
    if (Array.isArray(json)) return json.map(reversed);
    if (typeof json !== "object" || json === null) return json;
    const entries = Object.entries(json).map(([name, member]) => [name, reversed(member ?? null)] as const);
    return Object.fromEntries(entries.toReversed());
  };
  fc.assert(
    fc.property(value, (json) => {
      expect(canonicalJson(reversed(json))).toBe(canonicalJson(json));
      expect(JSON.parse(canonicalJson(json))).toEqual(json);
    }),
  );
});

test("a pointer survives writing and reading", () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (tokens) => {
      expect(parsePointer(formatPointer(tokens))).toEqual({ ok: true, value: tokens });
    }),
  );
});

test("no text makes the compilers of paths and templates throw", () => {
  const pieces = fc.array(
    fc.constantFrom(
      "{",
      "}",
      ".",
      "[",
      "]",
      "*",
      "?(",
      ")",
      "@",
      "$",
      "'",
      '"',
      "a",
      "0",
      ":",
      ",",
      "==",
      "range ",
      "end",
      "\\",
    ),
    { maxLength: 25 },
  );
  fc.assert(
    fc.property(pieces, value, (parts, document) => {
      const source = parts.join("");
      const path = compileJsonPath(source);
      if (path.ok) path.value.find(document);
      const template = compileJsonPathTemplate(source);
      if (template.ok) template.value.render(document);
    }),
    { numRuns: runs(2_000) },
  );
});
