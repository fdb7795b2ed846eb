import { describe, expect, test } from "vitest";
import { Masker } from "./masker.ts";

const masked = (values: readonly string[], ...chunks: readonly string[]): string => {
  const masker = new Masker(values);
  return Buffer.concat([...chunks.map((chunk) => masker.take(Buffer.from(chunk))), masker.end()]).toString();
};

test.each<[string, string[], string[], string]>([
  ["a value", ["hunter22"], ["a hunter22 b\n"], "a *** b\n"],
  ["all of them", ["hunter22"], ["hunter22hunter22 hunter2"], "****** hunter2"],
  ["over the cut of two chunks", ["hunter22"], ["a hunt", "er22 b"], "a *** b"],
  ["over many cuts", ["hunter22"], Array.from("a hunter22 b"), "a *** b"],
  ["nothing of what only begins like it", ["hunter22"], ["hunt", "ing hunter2", "1 hunter"], "hunting hunter21 hunter"],
  ["the longer of two", ["pass", "password"], ["a pass", "word pass"], "a *** ***"],
  ["the shorter, when the longer does not come", ["pass", "password"], ["a pass", "wo"], "a ***wo"],
  ["the shorter at the end", ["pass", "password"], ["a pass"], "a ***"],
  ["one that begins before another ends", ["abab", "babx"], ["abab", "x"], "***x"],
  ["one whose beginning comes twice", ["aaab"], ["aa", "aab"], "a***"],
  ["base64 of it", ["hunter22"], [`x ${Buffer.from("hunter22").toString("base64")} y`], "x *** y"],
  ["base64 of it with a newline", ["hunter22"], [Buffer.from("hunter22\n").toString("base64")], "***"],
  ["its form in a URL", ["p@ss/w rd"], ["https://u:p%40ss%2Fw%20rd@h p@ss/w rd"], "https://u:***@h ***"],
  ["its form in JSON", ['p"ss\\word'], ['{"x":"p\\"ss\\\\word"}'], '{"x":"***"}'],
  ["its form in JSON of Python", ["grüß<g&tt"], ['{"x":"gr\\u00fc\\u00df<g&tt"}'], '{"x":"***"}'],
  ["its form in JSON of Go", ["grüß<g&tt>"], ['{"x":"grüß\\u003cg\\u0026tt\\u003e"}'], '{"x":"***"}'],
  ["its form in JSON of PHP", ["ü/a/bcd"], ['{"x":"\\u00fc\\/a\\/bcd"}'], '{"x":"***"}'],
  ["each line of it", ["-----BEGIN\nabcdef\n-----END"], ["-----BEGIN\nabcdef\nxyz"], "***\n***\nxyz"],
  ["not words of three letters", ["abc", "", "  \n"], ["abc  \nabc"], "abc  \nabc"],
  ["characters of several bytes", ["grüßgott"], ["grüßgott!"], "***!"],
  ["half a pair", ["\ud800abcd"], ["x"], "x"],
])("%s", (_what, values, chunks, expected) => {
  expect(masked(values, ...chunks)).toBe(expected);
});

test("a value that is long is looked for in pieces", () => {
  const value = Array.from({ length: 1000 }, (_, n) => `${n}-`)
    .join("")
    .repeat(3);
  const shown = masked([value], `x${value.slice(0, 5000)}`, `${value.slice(5000)}y`);
  expect(shown).toMatch(/^x(\*\*\*)+y$/);
});

describe("what is held back", () => {
  test("is the beginning of a value and nothing else", () => {
    const masker = new Masker(["hunter22"]);
    expect(masker.take(Buffer.from("line\nhunt")).toString()).toBe("line\n");
    expect(masker.take(Buffer.from("er")).toString()).toBe("");
    expect(masker.take(Buffer.from(" no\n")).toString()).toBe("hunter no\n");
    expect(masker.end()).toHaveLength(0);
  });

  test("costs no time to speak of, whatever the value is", () => {
    const masker = new Masker(["a".repeat(100_000), "b"]);
    const before = process.cpuUsage();
    for (let count = 0; count < 20; count += 1) masker.take(Buffer.from("a".repeat(65_535)));
    // Of a processor, not of the wall's clock: the machine may be busy with something else.
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(5000);
  });
});
