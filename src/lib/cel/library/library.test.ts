import { Environment } from "@marcbachmann/cel-js";
import { describe, expect, test } from "vitest";
import { libraryFunctions } from "./index.ts";
import { evaluate } from "./testing/evaluate.ts";

// What holds for all functions of this folder; what each of them does is in the table of its file.

/** `list<string>.join(string)` as `list.join(string)`: what calls are told apart by. */
const callOf = (signature: string): string => signature.replace(/<[^()]*?>(?=[.,)])/g, "").replace(/\): .*$/, ")");
const nameOf = (signature: string): string => /(\w+)\(/.exec(signature)?.[1] ?? "";

const foreign = new Environment().getDefinitions().functions.map(({ signature }) => signature);
const own = new Set(libraryFunctions.map(({ signature }) => callOf(signature)));
const replaced = new Set(libraryFunctions.flatMap(({ signature, replaces }) => (replaces ? [nameOf(signature)] : [])));

test("a name that is replaced is replaced in all its overloads", () => {
  const lost = foreign.filter((signature) => replaced.has(nameOf(signature)) && !own.has(callOf(signature)));
  expect(lost).toEqual([]);
});

test("a function that the CEL library has under the same name is marked as its replacement, or is another overload", () => {
  const known = new Set(foreign.map(callOf));
  const hidden = libraryFunctions.filter(({ signature, replaces }) => !replaces && known.has(callOf(signature)));
  expect(hidden.map(({ signature }) => signature)).toEqual([]);
});

test("every signature is given once", () => {
  expect(own.size).toBe(libraryFunctions.length);
});

describe("values of the library have no members", () => {
  const values = ["quantity('1')", "url('/')", "ip('::1')", "cidr('::/0')", "ip"];
  test.each(values)("%s", (value) => {
    for (const member of ["toText", "constructor", "value", "__proto__", "isCanonical"]) {
      expect(evaluate(`dyn(${value}).${member}`)).toMatchObject({ ok: false });
    }
    expect(evaluate(`has(dyn([${value}])[0].constructor)`)).not.toEqual({ ok: true, value: true });
  });
});

test("a value of one type is no value of another", () => {
  for (const source of [
    "dyn(ip('::1')).getScheme()",
    "dyn(quantity('1')).masked()",
    "dyn(url('/')).isInteger()",
    "dyn(duration('1s')).getFullYear()",
    "dyn(1).getHours()",
    "dyn('a').sum()",
    "dyn([1]).trim()",
  ]) {
    expect(evaluate(source)).toMatchObject({ ok: false });
  }
});

test("values of the library leave an expression as texts wherever they stand", () => {
  const source =
    "[{'q': quantity('1Ki'), 'list': [url('/x'), ip('::1'), cidr('10.0.0.0/8'), duration('1m'), timestamp(0)]}]";
  expect(evaluate(source)).toEqual({
    ok: true,
    value: [{ q: "1Ki", list: ["/x", "::1", "10.0.0.0/8", "60s", "1970-01-01T00:00:00Z"] }],
  });
});
