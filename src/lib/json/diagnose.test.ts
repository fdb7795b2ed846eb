import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { diagnoseJson } from "./parse.ts";

const errorOf = (text: string, maxDepth = 200) => {
  const result = diagnoseJson(text, maxDepth);
  return result.ok ? undefined : result.error;
};

describe("the first error is named with what was expected and what stands there", () => {
  test.each<readonly [string, string, number]>([
    ["", "expected a value, found the end of the text", 0],
    [" \n\t\r", "expected a value, found the end of the text", 4],
    ["x", 'expected a value, found "x"', 0],
    ["tru", 'expected a value, found "t"', 0],
    ["nulll", 'expected the end of the text, found "l"', 4],
    ["[", "expected a value, found the end of the text", 1],
    ["[,]", 'expected a value, found ","', 1],
    ["[1 2]", 'expected "," or "]", found "2"', 3],
    ["[1,]", 'expected a value, found "]"', 3],
    ["[1}", 'expected "," or "]", found "}"', 2],
    ["{", "expected a key in double quotes, found the end of the text", 1],
    ["{]", 'expected a key in double quotes, found "]"', 1],
    ["{a:1}", 'expected a key in double quotes, found "a"', 1],
    ["{1:1}", 'expected a key in double quotes, found "1"', 1],
    ['{"a"}', 'expected ":", found "}"', 4],
    ['{"a":}', 'expected a value, found "}"', 5],
    ['{"a":1 "b":2}', 'expected "," or "}", found "\\""', 7],
    ['{"a":1,}', 'expected a key in double quotes, found "}"', 7],
    ['{"a":1]', 'expected "," or "}", found "]"', 6],
    ["{} []", 'expected the end of the text, found "["', 3],
    ["\u00a01", 'expected a value, found "\u00a0"', 0],
    ["1\u2028", 'expected the end of the text, found "\u2028"', 1],
    ["😀", 'expected a value, found "😀"', 0],
    ["\ufeff{}", "a byte order mark is not allowed", 0],
    ["[\ufeff]", "a byte order mark is not allowed", 1],
    ['"abc', "the string is not closed", 0],
    ['"abc\\"', "the string is not closed", 0],
    ['{"a', "the string is not closed", 1],
    ['"a\tb"', 'the control character "\\t" must be escaped in a string', 2],
    ['"\u0000"', 'the control character "\\u0000" must be escaped in a string', 1],
    ['"a\\x41"', "unknown escape sequence in a string", 2],
    ['"\\u12"', "unknown escape sequence in a string", 1],
    ['"\\\\\\u12G4"', "unknown escape sequence in a string", 3],
    ["01", 'expected the end of the text, found "1"', 1],
    ["1.", 'expected the end of the text, found "."', 1],
    ["1.e1", 'expected the end of the text, found "."', 1],
    ["1e", 'expected the end of the text, found "e"', 1],
    ["-", 'expected a value, found "-"', 0],
    ["--1", 'expected a value, found "-"', 0],
    ["+1", 'expected a value, found "+"', 0],
    [".5", 'expected a value, found "."', 0],
  ])("%j", (text, message, offset) => {
    expect(errorOf(text)).toMatchObject({ code: "syntax", message, offset });
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
  });
});

describe("numbers that a double would change", () => {
  test.each<readonly [string, string]>([
    ["9007199254740992", "the integer 9007199254740992 is beyond 2^53-1 and would lose digits"],
    ["-9007199254740993", "the integer -9007199254740993 is beyond 2^53-1 and would lose digits"],
    ["9".repeat(100), `the integer ${"9".repeat(40)}… is beyond 2^53-1 and would lose digits`],
    ["1e309", "the number 1e309 is too large"],
    ["-1.5e999", "the number -1.5e999 is too large"],
    ["-0", "negative zero (-0) has no exact form"],
    ["-0.00", "negative zero (-0.00) has no exact form"],
    ["-0e5", "negative zero (-0e5) has no exact form"],
    ["1e-400", "the number 1e-400 is too small"],
    ["-1e-400", "negative zero (-1e-400) has no exact form"],
  ])("%s is refused", (text, message) => {
    expect(errorOf(`[${text}]`)).toMatchObject({ code: "number-range", message, offset: 1 });
  });

  test.each(["9007199254740991", "-9007199254740991", "0", "0.0", "0e999", "-0.1", "1e308", "5e-324", "1E+2", "0.1e1"])(
    "%s is kept",
    (text) => {
      expect(errorOf(text)).toBeUndefined();
    },
  );
});

test.each<readonly [string, number, number]>([
  ["[1,\n 2,\n x]", 3, 2],
  ["[1,\r\n x]", 2, 2],
  ["\n\n", 3, 1],
  ['{"ä😀": x}', 1, 9],
])("the place of the error in %j is line %d, column %d", (text, line, column) => {
  expect(errorOf(text)).toMatchObject({ line, column });
});

test("the limit counts open collections, objects and arrays alike", () => {
  expect(errorOf('{"a": [{}]}', 3)).toBeUndefined();
  expect(errorOf('{"a": [{}]}', 2)).toMatchObject({
    code: "too-deep",
    message: "nested deeper than 2 levels",
    offset: 7,
  });
  expect(errorOf("[[],[],[]]", 2)).toBeUndefined();
  expect(errorOf("1", 0)).toBeUndefined();
  expect(errorOf("[]", 0)).toMatchObject({ code: "too-deep" });
});

test.each<readonly [string, readonly string[]]>([
  ['{"a": 1, "b": 2}', []],
  ['[{"a": 1}, {"a": 1}]', []],
  ['{"a": {"a": {"a": 1}}}', []],
  ['{"a": 1, "a": {"b": 1, "b": 2}}', ["a", "a.b"]],
  ['{"": 1, "": 2}', ["[]"]],
  ['{"l": [[{"x": 1, "x": 2}]]}', ["l[0][0].x"]],
  ['{"\\u0061": 1, "a": 2}', ["a"]],
  ['{"__proto__": 1, "__proto__": 2, "toString": 3}', ["__proto__"]],
])("%s repeats the keys %j", (text, paths) => {
  const result = diagnoseJson(text, 200);
  expect(result.ok && result.value.map(({ path }) => path)).toEqual(paths);
});

test("what it accepts JSON.parse accepts, and the other way round", () => {
  const soup = fc.array(fc.constantFrom(...Array.from('{}[]:,"\\u0019.eE+-tn \n'), "true", "null", '"a"', '"b":'), {
    maxLength: 20,
  });
  const parses = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      // Which error does not matter here.
      return false;
    }
  };
  fc.assert(
    fc.property(soup, (parts) => {
      const text = parts.join("");
      const error = errorOf(text);
      // Behind a number that is refused there may be a syntax error that was not looked for.
      if (error?.code !== "number-range") expect(parses(text)).toBe(error === undefined);
    }),
    { numRuns: 2_000 },
  );
});
