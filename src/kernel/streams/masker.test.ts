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
  ["base64url of it", ["s>cr?t~~s>cr?t~"], [`x ${Buffer.from("s>cr?t~~s>cr?t~").toString("base64url")} y`], "x *** y"],
  ["base64url of it without the padding", ["p?ss>w~rds"], [Buffer.from("p?ss>w~rds").toString("base64url")], "***"],
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

test.each(["", "u", "us", "user:", "some user:"])("base64 of a text that begins with %j holds no value", (before) => {
  const value = "correct horse";
  for (const after of ["", "x", "xy", "\n", " and more"]) {
    const encoded = Buffer.from(before + value + after).toString("base64");
    const shown = masked([value], `Authorization: Basic ${encoded} next`);
    expect(shown).toMatch(/^Authorization: Basic .*\*\*\*.* next$/);
    // Of the ends of the value less than a character each can be had from what is left.
    const left = shown.slice("Authorization: Basic ".length, -" next".length).length - "***".length;
    expect(left).toBeLessThanOrEqual(encoded.length - 16);
  }
});

test.each([76, 64])("base64 in lines of %i characters holds nothing of a long value", (width) => {
  const value = `-----BEGIN KEY-----\n${"QWxhZGRpbjpvcGVu+/".repeat(12)}\n-----END KEY-----`;
  for (const text of [value, `${value}\n`]) {
    const lines =
      Buffer.from(text)
        .toString("base64")
        .match(new RegExp(`.{1,${width}}`, "g")) ?? [];
    expect(lines.length).toBeGreaterThan(3);
    const shown = masked([value], `begin\n${lines.join("\n")}\nend\n`);
    expect(shown).toBe(`begin\n${"***\n".repeat(lines.length)}end\n`);
  }
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
