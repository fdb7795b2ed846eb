import { expect, test } from "vitest";
import { compileRe2, didYouMean, editDistance, expandVariables, matchRe2, nearest, parseOutputs } from "./index.ts";

test.each([
  ["biuld", "build"],
  ["Build", "build"],
  ["buildd", "build"],
  ["tset", "test"],
  ["dep", undefined],
  ["xyz", undefined],
  ["a", undefined],
])("the nearest word to %s is %s", (word, expected) => {
  expect(nearest(word, ["test", "build", "deploy"])).toBe(expected);
});

test.each([
  ["q", ["m", "x"], undefined],
  ["z", ["x"], undefined],
  ["X", ["x"], "x"],
  ["ab", ["ac", "xyz"], "ac"],
  ["ab", ["cd"], undefined],
  ["", ["a"], undefined],
])("of the short word %j among %j at least half must stay: %s", (word, candidates, expected) => {
  expect(nearest(word, candidates)).toBe(expected);
});

test("the smallest distance wins, and the first of equals", () => {
  expect(nearest("step", ["stop", "steps", "stem"])).toBe("stop");
  expect(nearest("stepp", ["stop", "stepsss", "step"])).toBe("step");
});

test.each([
  ["", "", 0],
  ["abc", "", 3],
  ["abc", "acb", 1],
  ["kitten", "sitting", 3],
  ["ca", "abc", 3],
])("from %j to %j it takes %d edits", (a, b, distance) => {
  expect(editDistance(a, b)).toBe(distance);
  expect(editDistance(b, a)).toBe(distance);
});

test("only the limit of edits and half of the word may be lost", () => {
  expect(nearest("ab", ["ba"])).toBe("ba");
  expect(didYouMean("ab", ["ba"])).toBe('did you mean "ba"?');
  expect(didYouMean("ab", ["cd"])).toBeUndefined();
  expect(nearest("ab", ["cd"])).toBeUndefined();
  expect(nearest("a", ["b"])).toBeUndefined();
  expect(nearest("", ["a"])).toBeUndefined();
  expect(nearest("deploy", ["depl"])).toBe("depl");
  expect(nearest("deploy", ["dep"])).toBeUndefined();
  expect(nearest("deploy", ["dep"], 3)).toBe("dep");
  expect(nearest("deploy", [])).toBeUndefined();
});

test("long words and many candidates are not compared for long", () => {
  const long = "x".repeat(100_000);
  expect(
    nearest(
      long,
      Array.from({ length: 100_000 }, () => `${long}y`),
    ),
  ).toBeUndefined();
});

const values: Readonly<Record<string, string>> = { A: "1", B: "$(A)", EMPTY: "" };
const valueOf = (name: string): string | undefined => (Object.hasOwn(values, name) ? values[name] : undefined);

test.each([
  ["$(A)", "1"],
  ["x$(A)y$(A)", "x1y1"],
  ["$(B)", "$(A)"],
  ["[$(EMPTY)]", "[]"],
  ["$(NONE)", "$(NONE)"],
  ["$(toString)", "$(toString)"],
  ["$$(A)", "$(A)"],
  ["$$$(A)", "$1"],
  ["$$$$(A)", "$$(A)"],
  ["$A ${A} $ $$ $x", "$A ${A} $ $ $x"],
  ["$(A", "$(A"],
  ["$($(A))", "$($(A))"],
  ["$()", "$()"],
  ["$", "$"],
  ["", ""],
])("%j expands to %j", (text, expanded) => {
  expect(expandVariables(text, valueOf)).toBe(expanded);
});

test("a text full of openings expands in linear time", () => {
  const text = "$(".repeat(200_000);
  expect(expandVariables(text, valueOf)).toBe(text);
});

test.each<readonly [string, object]>([
  ["", {}],
  ["a=1\nb=two words = here\n", { a: "1", b: "two words = here" }],
  ["a=1\r\n\r\n# comment\r\n b =  x \r\n", { a: "1", b: "  x " }],
  ["a=1\na=2", { a: "2" }],
  ["text<<END\nline 1\n line=2\n\nEND\nb=1", { text: "line 1\n line=2\n", b: "1" }],
  ["empty<<E\nE", { empty: "" }],
  ["a=x<<y", { a: "x<<y" }],
  ['{"a": 1, "b": {"c": [true]}}', { a: 1, b: { c: [true] } }],
  [' \n {"a": "x"}\n', { a: "x" }],
  ["a={not json", { a: "{not json" }],
  ["image.tag=1\nmy-key=2\n_x=3", { "image.tag": "1", "my-key": "2", _x: "3" }],
])("the outputs %j are read", (text, outputs) => {
  expect(parseOutputs(text)).toEqual({ ok: true, value: outputs });
});

test("__proto__ is an ordinary output", () => {
  const outputs = parseOutputs("__proto__=x");
  expect(outputs.ok && JSON.stringify(outputs.value)).toBe('{"__proto__":"x"}');
});

test.each<readonly [string, readonly (readonly [number, string])[]]>([
  ["hello", [[1, 'expected key=value, found "hello"']]],
  [
    "a=1\n2x=1\n=3\nnope",
    [
      [2, 'expected a key of letters, digits, "_", "-" and ".", found "2x"'],
      [3, 'expected a key of letters, digits, "_", "-" and ".", found ""'],
      [4, 'expected key=value, found "nope"'],
    ],
  ],
  ["a<<END\nb=1", [[2, 'expected the line "END" that closes line 1']]],
  ["a<<\nb=1", [[1, 'expected an end marker behind "<<", as in key<<END']]],
  ['{"a": 1,\n "b" }', [[2, 'expected ":", found "}"']]],
  ["{} {}", [[1, 'expected the end of the text, found "{"']]],
])("the outputs %j are refused", (text, errors) => {
  expect(parseOutputs(text)).toEqual({ ok: false, error: errors.map(([line, message]) => ({ line, message })) });
});

test("a large text of unclosed blocks is read in linear time", () => {
  expect(parseOutputs("a<<END\n".repeat(100_000)).ok).toBe(false);
});

test("the block of a wrong key is one error, however long it is", () => {
  const block = `1<<END\n${"1<<END\n".repeat(200_000)}END\nno`;
  expect(parseOutputs(block)).toEqual({
    ok: false,
    error: [
      { line: 1, message: 'expected a key of letters, digits, "_", "-" and ".", found "1"' },
      { line: 200_003, message: 'expected key=value, found "no"' },
    ],
  });
});

test("a long wrong line is not repeated in full", () => {
  const parsed = parseOutputs("x".repeat(1_000_000));
  expect(parsed.ok ? 0 : parsed.error[0]?.message.length).toBeLessThan(200);
});

test.each([
  ["^a+$", "aaa", true],
  ["^a+$", "aab", false],
  ["b", "abc", true],
  ["(?i)ABC", "xabc", true],
  ["\\p{Greek}", "δ", true],
  ["^.$", "😀", true],
  ["", "x", true],
])("the pattern %s on %j gives %s", (pattern, text, expected) => {
  expect(matchRe2(pattern, text)).toEqual({ ok: true, value: expected });
});

test.each(["(", "a**", "(?=x)", "(?<!x)y", "\\1", "a{1001}", "[b-a]", "x".repeat(4_097)])(
  "%s is refused",
  (pattern) => {
    expect(compileRe2(pattern).ok).toBe(false);
  },
);

test.each([
  ["nested repetitions", "((a{100}){100}){10}"],
  ["repeated classes", "[a-z]{1000}".repeat(100)],
  ["repeated choices", "(|a){500}".repeat(300)],
  ["a repeated list of repetitions", `(${"x{10}".repeat(500)}){100}`],
  ["repeated Unicode classes", "\\pL{900}".repeat(50)],
])("a pattern that compiles to too much is refused: %s", (_, pattern) => {
  expect(compileRe2(pattern)).toMatchObject({ ok: false });
});

test.each(["(a+)+$", "(a|a)*$", "(.*)*x", "(?:a?){100}a{100}", "((a*)*)*b"])(
  "the pattern %s does not hang",
  (pattern) => {
    expect(matchRe2(pattern, `${"a".repeat(20_000)}!`).ok).toBe(true);
  },
);

test("a large pattern refuses a text that would take too long", () => {
  expect(matchRe2("[a-z]{1000}[a-y]{1000}", "a".repeat(1_000)).ok).toBe(true);
  expect(matchRe2("[0-9]+", "a".repeat(1_000_000)).ok).toBe(true);
  expect(matchRe2("[a-z]{1000}[a-y]{1000}", "a".repeat(1_000_000))).toMatchObject({
    ok: false,
    error: expect.stringContaining("too long"),
  });
});

test("searches that may read the whole rest again and again are stopped", () => {
  const pattern = compileRe2("[a-z]{900}!|a");
  if (!pattern.ok) throw new Error(pattern.error);
  expect(pattern.value.findAll("a".repeat(100))).toMatchObject({ ok: true });
  const refused = pattern.value.findAll("a".repeat(100_000));
  expect(refused).toMatchObject({ ok: false, error: expect.stringContaining("too long for the regular expression") });
});

test.each<readonly [string, string, readonly string[]]>([
  ["a*", "baac", ["", "aa", ""]],
  ["", "ab", ["", "", ""]],
  ["x", "", []],
  ["(?s).", "a\n😀", ["a", "\n", "😀"]],
  ["a|ab", "abab", ["a", "a"]],
  ["[^,]+", "a,b,,c", ["a", "b", "c"]],
  ["^a", "aaa", ["a"]],
])("all of %j in %j", (source, text, found) => {
  const pattern = compileRe2(source);
  expect(pattern.ok && pattern.value.findAll(text)).toMatchObject({ ok: true, value: { found } });
});

test("matches are found from left to right", () => {
  const pattern = compileRe2("[0-9]+");
  if (!pattern.ok) throw new Error(pattern.error);
  expect(pattern.value.find("a12b3")).toBe("12");
  expect(pattern.value.find("x")).toBeUndefined();
  expect(pattern.value.findAll("a12b3c456", 2)).toMatchObject({ ok: true, value: { found: ["12", "3"] } });
  expect(pattern.value.findAll("a12b3c456")).toMatchObject({ ok: true, value: { found: ["12", "3", "456"] } });
  expect(pattern.value.findAll("a12b3c456", 0)).toEqual({ ok: true, value: { found: [], steps: 0 } });
  expect(pattern.value.size).toBeGreaterThan(0);
});

test("a pattern in use stays in the cache, and old ones leave it", () => {
  const kept = compileRe2("kept");
  const gone = compileRe2("gone");
  for (let n = 0; n < 250; n += 1) {
    compileRe2(`pattern-${n}`);
    compileRe2("kept");
  }
  expect(compileRe2("kept").ok && kept.ok && compileRe2("kept")).toEqual(kept);
  const again = compileRe2("gone");
  expect(again.ok && gone.ok && again.value !== gone.value).toBe(true);
});
