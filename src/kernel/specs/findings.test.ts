import { expect, test } from "vitest";
import { type FieldError, fieldError } from "#lib/schema/index.ts";
import { checkNotNegative, checkOneOf, checkUnion, noFindings, type Report, withoutRepetition } from "./findings.ts";

function collect(check: (report: Report) => void): readonly string[] {
  const errors: FieldError[] = [];
  check((error) => errors.push(error));
  return errors.map(({ field, message }) => `${field}: ${message}`);
}

test("findings start with what is known already, and do not share its list", () => {
  const known = [fieldError.required("a")];
  const found = noFindings(known);
  found.errors.push(fieldError.required("b"));
  expect(known).toHaveLength(1);
  expect(found).toMatchObject({ unsupported: [], warnings: [] });
});

test.each([
  ["x", []],
  ["y", ['p.a: Unsupported value: "y": supported values: "x"']],
  ["", ['p.a: Unsupported value: "": supported values: "x"']],
  [undefined, []],
  [1, ['p.a: Unsupported value: 1: supported values: "x"']],
])("of one word, %j gives %j", (a, expected) => {
  expect(collect((report) => checkOneOf({ a }, "a", ["x"], ["p"], report))).toEqual(expected);
});

test.each([
  [{}, ["p: Required value: must specify one of: a, b"]],
  [{ a: {} }, []],
  [{ b: 0 }, []],
  [{ a: null, b: {} }, []],
  [{ a: {}, b: {} }, ["p.b: Forbidden: may not specify more than 1 of them"]],
  [{ c: {} }, ["p: Required value: must specify one of: a, b"]],
])("of two members that exclude each other, %j gives %j", (object, expected) => {
  expect(collect((report) => checkUnion(object, ["a", "b"], ["p"], report))).toEqual(expected);
});

test("only numbers can be negative, and 0 is not", () => {
  const object = { a: -1, b: 0, c: "-1", d: -0.5, e: null };
  expect(collect((report) => checkNotNegative(object, ["a", "b", "c", "d", "e", "f"], ["p"], report))).toEqual([
    "p.a: Invalid value: -1: must be greater than or equal to 0",
    "p.d: Invalid value: -0.5: must be greater than or equal to 0",
  ]);
});

test("what is missing is said once, what is wrong is said once in each way", () => {
  const errors = [
    fieldError.required("a"),
    fieldError.invalid("a", 1, "too small"),
    fieldError.required("a", "of a rule"),
    fieldError.invalid("a", 1, "too odd"),
    fieldError.invalid("a", 1, "too small"),
    fieldError.required("b"),
  ];
  expect(withoutRepetition(errors).map(({ field, message }) => `${field}: ${message}`)).toEqual([
    "a: Required value",
    "a: Invalid value: 1: too small",
    "a: Invalid value: 1: too odd",
    "b: Required value",
  ]);
});
