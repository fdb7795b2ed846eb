import { expect, test } from "vitest";
import { parseJson, readJson } from "./index.ts";

const errorOf = (text: string | Uint8Array) => {
  const result = parseJson(text);
  if (result.ok) throw new Error(`expected an error, read ${JSON.stringify(result.value)}`);
  return result.error;
};

test.each([
  ["{}", {}],
  [" [1, -2.5, 1e3, true, null]\n", [1, -2.5, 1000, true, null]],
  ['"a\\u0041\\n"', "aA\n"],
  ["9007199254740991", 9007199254740991],
  ["-9007199254740991", -9007199254740991],
  ['"12345678901234567890123"', "12345678901234567890123"],
  ["0.1234567890123456789", 0.12345678901234568],
  ["0", 0],
  ["-0.5", -0.5],
  ["0e0", 0],
])("%s is read", (text, value) => {
  expect(parseJson(text)).toEqual({ ok: true, value });
});

test.each([
  ["", "syntax", 0],
  ["  ", "syntax", 2],
  ['{"a": ', "syntax", 6],
  ['{"a": 1', "syntax", 7],
  ['{"a" 1}', "syntax", 5],
  ["{} {}", "syntax", 3],
  ["{}x", "syntax", 2],
  ["[1,]", "syntax", 3],
  ['{"a":1,}', "syntax", 7],
  ["{'a':1}", "syntax", 1],
  ["[01]", "syntax", 2],
  ["[+1]", "syntax", 1],
  ["[.5]", "syntax", 1],
  ["[1.]", "syntax", 2],
  ["NaN", "syntax", 0],
  ["Infinity", "syntax", 0],
  ["[1}", "syntax", 2],
  ['"abc', "syntax", 0],
  ['"a\nb"', "syntax", 2],
  ['"a\\x"', "syntax", 2],
  ['["\\u12g4"]', "syntax", 2],
  ["\uFEFF{}", "syntax", 0],
  ["// no\n{}", "syntax", 0],
  ["9007199254740992", "number-range", 0],
  ["[1, 9007199254740993]", "number-range", 4],
  ["1e400", "number-range", 0],
  ["-0", "number-range", 0],
  ["[-0.0]", "number-range", 1],
  ["1e-400", "number-range", 0],
])("%j is refused", (text, code, offset) => {
  expect(errorOf(text)).toMatchObject({ code, offset });
});

test("an error tells line and column", () => {
  expect(errorOf('{\n  "a": 1,\n  "b" 2\n}')).toMatchObject({
    line: 3,
    column: 7,
    message: 'expected ":", found "2"',
  });
});

test("a truncated text says so", () => {
  expect(errorOf('{"a": [1').message).toBe('expected "," or "]", found the end of the text');
});

test("200 levels of nesting are read and 201 are refused", () => {
  expect(parseJson("[".repeat(200) + "]".repeat(200)).ok).toBe(true);
  expect(errorOf("[".repeat(201) + "]".repeat(201))).toMatchObject({ code: "too-deep", offset: 200 });
});

test.each(["[", '{"a":'])("100,000 levels of %s overflow nothing", (open) => {
  expect(errorOf(open.repeat(100_000)).code).toBe("too-deep");
});

test("brackets inside strings do not nest", () => {
  expect(parseJson(`["${"[".repeat(1_000)}\\"["]`).ok).toBe(true);
});

test("keys that name inherited members are ordinary keys", () => {
  const result = parseJson('{"__proto__": {"polluted": true}, "constructor": 1, "toString": "x"}');
  if (!result.ok) throw new Error(result.error.message);
  expect(Object.keys(Object(result.value))).toEqual(["__proto__", "constructor", "toString"]);
  expect(Object.getPrototypeOf(result.value)).toBe(Object.prototype);
  expect("polluted" in {}).toBe(false);
});

test("every repeated key is reported with its path and the last value wins", () => {
  const text = '{"a": 1, "b": {"c": 1, "c": 2, "c": 3}, "l": [0, {"x.y": 1, "x.y": 2}], "a": 4}';
  expect(readJson(text)).toEqual({
    ok: true,
    value: {
      value: { a: 4, b: { c: 3 }, l: [0, { "x.y": 2 }] },
      duplicates: [
        { path: "b.c", offset: text.indexOf('"c": 2') },
        { path: "b.c", offset: text.indexOf('"c": 3') },
        { path: "l[1][x.y]", offset: text.lastIndexOf('"x.y"') },
        { path: "a", offset: text.lastIndexOf('"a"') },
      ],
    },
  });
});

test("the first hundred repeated keys are reported, as Kubernetes does", () => {
  const result = readJson(`{"${"k".repeat(500_000)}": {${'"a":1,'.repeat(20_000)}"b":1}}`);
  expect(result.ok && result.value.duplicates).toHaveLength(100);
  expect(result.ok && result.value.duplicates[0]).toMatchObject({ path: `${"k".repeat(500_000)}.a`, offset: 500_012 });
});

test("keys that differ only in their escapes are the same key", () => {
  const result = readJson('{"a": 1, "\\u0061": 2}');
  expect(result.ok && result.value.duplicates.map((d) => d.path)).toEqual(["a"]);
});

test("bytes are read as UTF-8", () => {
  expect(parseJson(new TextEncoder().encode('"ä€😀"'))).toEqual({ ok: true, value: "ä€😀" });
});

test.each([
  ["a lone continuation byte", [0x22, 0x80, 0x22], 1],
  ["a sequence cut by the end", [0x22, 0xe2, 0x82], 1],
  ["an overlong form", [0x22, 0x61, 0xc0, 0xaf, 0x22], 2],
])("%s is refused", (_, bytes, atLeast) => {
  const error = errorOf(Uint8Array.from(bytes));
  expect(error.code).toBe("encoding");
  expect(error.offset).toBeGreaterThanOrEqual(atLeast);
});

test("a byte order mark in bytes is refused", () => {
  expect(errorOf(Uint8Array.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]))).toMatchObject({ code: "syntax", offset: 0 });
});
