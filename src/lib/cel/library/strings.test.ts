import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { costOf, evaluate, expectFailures, expectRefusals, expectTrue, expectValues } from "./testing/evaluate.ts";

describe("positions count code points", () => {
  expectValues([
    ["'tacocat'.charAt(0)", "t"],
    ["'tacocat'.charAt(6)", "t"],
    ["'tacocat'.charAt(7)", ""],
    ["''.charAt(0)", ""],
    ["'a😀b'.charAt(1)", "😀"],
    ["'a😀b'.charAt(2)", "b"],
    ["'tacocat'.indexOf('')", 0],
    ["'tacocat'.indexOf('', 3)", 3],
    ["'tacocat'.indexOf('', 7)", 7],
    ["'tacocat'.indexOf('at')", 5],
    ["'tacocat'.indexOf('at', 5)", 5],
    ["'tacocat'.indexOf('at', 6)", -1],
    ["'tacocat'.indexOf('none')", -1],
    ["''.indexOf('')", 0],
    ["''.indexOf('a')", -1],
    ["'😀é😀b'.indexOf('b')", 3],
    ["'😀é😀b'.indexOf('😀', 1)", 2],
    ["'tacocat'.lastIndexOf('')", 7],
    ["'tacocat'.lastIndexOf('', 3)", 3],
    ["'tacocat'.lastIndexOf('at')", 5],
    ["'tacocat'.lastIndexOf('t', 4)", 0],
    ["'tacocat'.lastIndexOf('t', 6)", 6],
    ["'tacocat'.lastIndexOf('tacocats')", -1],
    ["'bananananana'.lastIndexOf('nana', 7)", 6],
    ["''.lastIndexOf('@@')", -1],
    ["'😀é😀b'.lastIndexOf('😀')", 2],
    ["'😀é😀b'.lastIndexOf('😀', 1)", 0],
    ["'tacocat'.substring(0)", "tacocat"],
    ["'tacocat'.substring(7)", ""],
    ["'tacocat'.substring(4, 4)", ""],
    ["'tacocat'.substring(0, 4)", "taco"],
    ["'ta©o😀αT'.substring(2, 6)", "©o😀α"],
  ]);
  expectFailures([
    ["'abc'.charAt(4)", "index 4 is out of range 0 to 3"],
    ["'abc'.charAt(-1)", "index -1 is out of range 0 to 3"],
    ["'😀'.charAt(2)", "index 2 is out of range 0 to 1"],
    ["'abc'.indexOf('a', 9)", "index 9 is out of range 0 to 3"],
    ["'abc'.indexOf('a', -1)", "index -1 is out of range 0 to 3"],
    ["'abc'.lastIndexOf('a', 30)", "index 30 is out of range 0 to 3"],
    ["'abc'.lastIndexOf('a', -1)", "index -1 is out of range 0 to 3"],
    ["'abc'.substring(40)", "index 40 is out of range 0 to 3"],
    ["'abc'.substring(-1)", "index -1 is out of range 0 to 3"],
    ["'abc'.substring(1, 50)", "index 50 is out of range 0 to 3"],
    ["'abc'.substring(49, 50)", "index 49 is out of range 0 to 3"],
    ["'abc'.substring(2, 1)", "the end 1 is before the start 2"],
    ["'abc'.substring(9223372036854775807)", "index 9223372036854776000 is out of range 0 to 3"],
  ]);
});

describe("case and blanks", () => {
  expectValues([
    ["'TacoCÆt Xii'.lowerAscii()", "tacocÆt xii"],
    ["'tacoCæt ſß'.upperAscii()", "TACOCæT ſß"],
    ["'  \\ttrim\\n    '.trim()", "trim"],
    ["' \\f\\n\\r\\t\\vtext in text  '.trim()", "text in text"],
    ["'\\u0085\\u00a0\\u1680text'.trim()", "text"],
    ["'text\\u2000\\u2009\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'.trim()", "text"],
    ["'\\u180etext\\u200b\\u2060\\ufeff'.trim()", "\u180etext\u200b\u2060\ufeff"],
    ["'\\u001ctext'.trim()", "\u001ctext"],
    ["'   '.trim()", ""],
    ["''.trim()", ""],
  ]);

  test("blanks inside of a text do not make trimming slow", () => {
    const text = `x${" ".repeat(200_000)}x`;
    expect(evaluate("text.trim() == text", { text })).toEqual({ ok: true, value: true });
  });
});

describe("texts that would be too long are not made", () => {
  const text = "a".repeat(3_000);
  test.each([
    ["text.replace('', text)", "the text would be longer than 4000000 characters"],
    ["text.replace('a', text)", "the text would be longer than 4000000 characters"],
    ["text.split('').join(text)", "the text would be longer than 4000000 characters"],
    ["'%s'.format([text.split('').map(x, text)])", "the text would be longer than 4000000 characters"],
  ])("%s", (source, error) => {
    expect(evaluate(source, { text }, 100_000_000)).toEqual({ ok: false, error });
  });
});

describe("cutting and joining", () => {
  expectValues([
    ["'a b c'.split(' ')", ["a", "b", "c"]],
    ["'a b c'.split(' ', 0)", []],
    ["'a b c'.split(' ', 1)", ["a b c"]],
    ["'a b c'.split(' ', 2)", ["a", "b c"]],
    ["'a b c'.split(' ', 3)", ["a", "b", "c"]],
    ["'a b c'.split(' ', 4)", ["a", "b", "c"]],
    ["'a b c'.split(' ', -1)", ["a", "b", "c"]],
    ["' a '.split(' ')", ["", "a", ""]],
    ["'abc'.split('x')", ["abc"]],
    ["'aaa'.split('aa')", ["", "a"]],
    ["''.split(',')", [""]],
    ["''.split('')", []],
    ["'a😀b'.split('')", ["a", "😀", "b"]],
    ["'a😀b'.split('', 2)", ["a", "😀b"]],
    ["['x', 'y'].join()", "xy"],
    ["['x', 'y'].join('-')", "x-y"],
    ["['x'].join('-')", "x"],
    ["[].join()", ""],
    ["[].join('-')", ""],
    ["['', ''].join('-')", "-"],
    ["'hello hello'.replace('he', 'we')", "wello wello"],
    ["'hello hello'.replace('he', 'we', -1)", "wello wello"],
    ["'hello hello'.replace('he', 'we', 1)", "wello hello"],
    ["'hello hello'.replace('he', 'we', 0)", "hello hello"],
    ["'hello'.replace('l', '')", "heo"],
    ["'hello'.replace('x', 'y')", "hello"],
    ["'aaa'.replace('aa', 'b')", "ba"],
    ["'a.b'.replace('.', '$&')", "a$&b"],
    ["'ab'.replace('', '-')", "-a-b-"],
    ["'a😀'.replace('', '-', 2)", "-a-😀"],
    ["''.replace('', 'x')", "x"],
    ["'1 ©αT taco'.replace('αT', 'o©α')", "1 ©o©α taco"],
  ]);
  expectFailures([
    ["['a', dyn(1)].join()", "expected a string"],
    ["[dyn(null)].join(',')", "expected a string"],
  ]);
  expectRefusals([
    ["42.split('2')", "found no matching overload for 'int.split(string)'"],
    ["'42'.replace('2', 1)", "found no matching overload for 'string.replace(string, int)'"],
    ["'42'.charAt(true)", "found no matching overload for 'string.charAt(bool)'"],
    ["'a'.trim(1)", "found no matching overload for 'string.trim(int)'"],
  ]);
  expectTrue([
    "'a,b'.split(',').join(',') == 'a,b'",
    "'abc'.startsWith('') && 'abc'.endsWith('bc') && 'abc'.contains('b') && !'abc'.contains('B')",
  ]);
});

test("what a function makes is paid for by its length", () => {
  const text = "ab".repeat(5_000);
  const reading = costOf("text.contains('zz')", { text });
  expect(costOf("text.replace('a', 'aaaaaaaaaaa')", { text })).toBeGreaterThan(reading + 5_000);
  expect(costOf("text.split('').size()", { text })).toBeGreaterThan(reading + 9_000);
  expect(costOf("text.size()", { text })).toBeLessThan(20);
});

test("functions agree with their definitions on lists of code points", () => {
  const short = fc.string({ unit: fc.constantFrom("a", "b", "😀", "é"), maxLength: 12 });
  const asNumber = (source: string, bindings: Record<string, string>): unknown => {
    const result = evaluate(source, { self: bindings });
    return result.ok ? result.value : result.error;
  };
  fc.assert(
    fc.property(short, short, (text, part) => {
      const points = Array.from(text);
      const wanted = Array.from(part);
      const places = [...points.keys(), points.length].filter((at) =>
        wanted.every((char, n) => points[at + n] === char),
      );
      expect(asNumber("self.text.indexOf(self.part)", { text, part })).toBe(places[0] ?? -1);
      expect(asNumber("self.text.lastIndexOf(self.part)", { text, part })).toBe(places.at(-1) ?? -1);
      expect(asNumber("self.text.split(self.part).join(self.part)", { text, part })).toBe(text);
    }),
    { numRuns: 200 },
  );
});
