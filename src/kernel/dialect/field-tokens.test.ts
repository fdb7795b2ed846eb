import fc from "fast-check";
import { expect, test } from "vitest";
import { formatFieldPath } from "#lib/base/index.ts";
import { fieldTokens, isWithin, parentOf } from "./field-tokens.ts";

const document = { spec: { steps: { a: { list: [{ x: 1 }, { "b.c/d": 2 }] }, "a.b": {}, ab: null } } };

test.each([
  ["spec", ["spec"]],
  ["spec.steps.a.list[1]", ["spec", "steps", "a", "list", 1]],
  ["spec.steps.a.list[1][b.c/d]", ["spec", "steps", "a", "list", 1, "b.c/d"]],
  ["spec.steps[a.b]", ["spec", "steps", "a.b"]],
  ["spec.steps.ab", ["spec", "steps", "ab"]],
  ["spec.steps.a.missing", ["spec", "steps", "a", "missing"]],
  ["spec.steps.a.missing.deeper[0]", ["spec", "steps", "a", "missing.deeper[0]"]],
  ["spec.steps.a.list[7]", ["spec", "steps", "a", "list", "[7]"]],
  ["other", ["other"]],
  ["", []],
])("%s is found as %j", (field, tokens) => {
  expect(fieldTokens(document, field)).toEqual(tokens);
});

test("every place of any document is found again by its text", () => {
  const key = fc.oneof(fc.stringMatching(/^[a-z]{1,3}$/), fc.constantFrom("a.b", "a/b", "a-b", "0"));
  const tree = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, fc.integer(), fc.dictionary(key, tie("value")), fc.array(tie("value"))),
  })).value;
  fc.assert(
    fc.property(tree, (value) => {
      for (const path of places(value)) expect(fieldTokens(value as never, formatFieldPath(path))).toEqual(path);
    }),
    { numRuns: 100 },
  );
});

function* places(value: unknown, path: readonly (string | number)[] = []): Generator<readonly (string | number)[]> {
  yield path;
  if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* places(item, [...path, index]);
  else if (typeof value === "object" && value !== null)
    for (const [name, member] of Object.entries(value)) yield* places(member, [...path, name]);
}

test("a field is within itself and its parents, and not within what only begins alike", () => {
  expect(["a.b", "a.b.c", "a.b[0]", "a.b[x.y]"].map((field) => isWithin(field, "a.b"))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(["a", "a.bc", "a.b-c", "x.a.b"].map((field) => isWithin(field, "a.b"))).toEqual([false, false, false, false]);
});

test("the parent of a field is the field without its last part", () => {
  expect(["a.b[0]", "a.b", "a", "a[x.y]", "a[0][1]"].map(parentOf)).toEqual(["a.b", "a", "a", "a", "a[0]"]);
});
