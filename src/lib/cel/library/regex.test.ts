import { describe, expect, test } from "vitest";
import { costOf, evaluate, expectFailures, expectTrue, expectValues } from "./testing/evaluate.ts";

describe("patterns", () => {
  expectTrue([
    "'abc'.matches('b.$') && matches('abc', '^a') && !'abc'.matches('^b')",
    "'abc'.matches('') && ''.matches('^$') && 'a\\nb'.matches('(?m)^b$') && !'a\\nb'.matches('^b$')",
    "'ABC'.matches('(?i)abc') && 'δ'.matches('\\\\p{Greek}') && '😀'.matches('^.$')",
  ]);
  expectValues([
    ["'abc 123'.find('[0-9]+')", "123"],
    ["'123 abc 456'.find('[0-9]+')", "123"],
    ["'abc'.find('x')", ""],
    ["'abc'.find('')", ""],
    ["'foobar'.find('o|oo')", "o"],
    ["'123 abc 456'.findAll('[0-9]+')", ["123", "456"]],
    ["'123 abc 456'.findAll('[0-9]+', 1)", ["123"]],
    ["'123 abc 456'.findAll('[0-9]+', 0)", []],
    ["'123 abc 456'.findAll('[0-9]+', 5)", ["123", "456"]],
    ["'123 abc 456'.findAll('[0-9]+', -1)", ["123", "456"]],
    ["'ab'.findAll('x')", []],
    ["'baac'.findAll('a*')", ["", "aa", ""]],
    ["'a1b2'.findAll('([a-z])([0-9])')", ["a1", "b2"]],
  ]);
  expectFailures([
    ["'a'.matches('(')", 'invalid regular expression "(": error parsing regexp: missing closing ): `(`'],
    [
      "'a'.find('a{1001}')",
      'invalid regular expression "a{1001}": error parsing regexp: invalid repeat count: `{1001}`',
    ],
    [
      "'a'.findAll('\\\\1')",
      'invalid regular expression "\\\\1": error parsing regexp: invalid escape sequence: `\\1`',
    ],
    ["matches('a', '((a{100}){100}){10}')", 'the regular expression "((a{100}){100}){10}" repeats too much'],
  ]);
});

test("a match costs the size of its pattern times the length of its text", () => {
  const text = "a".repeat(1_000);
  const small = costOf("text.matches('x$')", { text });
  const large = costOf("text.matches('[a-z]{500}x')", { text });
  expect(large - small).toBeGreaterThan((500 * 1_000) / 100 - 20);
  expect(costOf("matches(text, '[a-z]{500}x')", { text })).toBeGreaterThan(large - 20);
  expect(costOf("text.find('[a-z]{500}x')", { text })).toBeGreaterThan(large - 20);
});

test("an error is not kept back by what stands beside it", () => {
  expect(evaluate("['a', 'b'].exists(x, x.matches('('))")).toMatchObject({ ok: false });
  expect(evaluate("['a', 'b'].exists(x, x == 'a' || x.matches('('))")).toEqual({ ok: true, value: true });
});
