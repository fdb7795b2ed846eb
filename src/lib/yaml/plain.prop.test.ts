import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "#test/support/property-runs.ts";
import { readPlain } from "./plain.ts";
import { readTrees } from "./read.ts";

const limits = { maxDepth: 200, maxParts: Number.POSITIVE_INFINITY };

/** Whether a text was read without trees; what was read then has to be what is read of trees, without a word against it. */
function agrees(text: string, within = limits): boolean {
  const values = readPlain(text, within);
  if (values === undefined) return false;
  const trees = readTrees(text, within);
  const read = trees.ok ? trees.value : { documents: [], warnings: trees.error };
  // As texts, because the order of members counts as well.
  const wanted = JSON.stringify(read.documents.map(({ value }) => value));
  expect(JSON.stringify(values), JSON.stringify(text)).toBe(wanted);
  expect(read.warnings, JSON.stringify(text)).toEqual([]);
  return true;
}

const folder = join(import.meta.dirname, "../../../examples");
const examples = readdirSync(folder, { recursive: true, encoding: "utf8" })
  // Templates of charts become YAML when they are rendered.
  .filter((name) => /\.ya?ml$/.test(name) && !name.includes("chart/templates/"))
  .map((name) => readFileSync(join(folder, name), "utf8"));

test("what people write is read without trees, but for anchors and aliases", () => {
  for (const text of examples) expect(agrees(text), text).toBe(!/[&*]\w/.test(text));
});

test.each([
  "a: >-\n  b\n\n  c\n",
  "a: b\n  c\nd: 'e\n  f'\n",
  "a: [b,\n  c, # d\n  {e: f}]\n",
  "a: b\r\nc:\r\n- d\r\n",
])("%j is read without trees", (text) => expect(agrees(text)).toBe(true));

/** Marks that mean something somewhere, and texts that are told from others by one of their letters. */
const piece = fc.constantFrom(
  ..."-:#?|>&*!%@`'\"[]{},~\\ \n\t\r.0x$é=<".split(""),
  "- ",
  ": ",
  " #",
  "  ",
  "---",
  "...",
  "''",
  "\\n",
  "\\u0041",
  "|-",
  "|+",
  "|2",
  ">-",
  "<<: ",
  "&a ",
  "*a",
  "!!str ",
  "? ",
  "null",
  "yes",
  "0755",
  "1_0",
  "-0",
  "1e3",
  ".inf",
  "__proto__",
  "a",
  "\u00a0",
  "\u0085",
  "\u2028",
  "\ufeff",
  "\n\n",
  "\n  ",
  "a: b",
  "\r\n",
  "\n...\n",
  ">2\n",
  "'a\n b'",
  '"a\\\n b"',
  "[a,\n b]",
  "\n? a\n: b",
  "# c\n",
);
/** One edit: where in the text, how many letters go, and what comes instead. */
const edit = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(3), piece);
const edited = (text: string, edits: readonly (readonly [number, number, string])[]): string =>
  edits.reduce((before, [where, gone, instead]) => {
    const at = Math.floor(where * before.length);
    return before.slice(0, at) + instead + before.slice(at + gone);
  }, text);

test("what is read of a text that was damaged is what is read of trees", () => {
  let plain = 0;
  const property = fc.property(fc.constantFrom(...examples), fc.array(edit, { maxLength: 3 }), (text, edits) => {
    if (agrees(edited(text, edits))) plain += 1;
  });
  fc.assert(property, { numRuns: runs(400) });
  expect(plain, "some still were").toBeGreaterThan(runs(40));
});

const usualWord = fc.constantFrom(
  "a",
  "b",
  "key",
  "yes",
  "null",
  "1",
  "0755",
  "1.5",
  "-1",
  "-",
  "--x",
  "a:b",
  "a#b",
  "${{ x }}",
  "'q'",
  '"q"',
  "'it''s'",
  '"a\\n"',
  "a b",
  "[]",
  "{}",
  "[a, b]",
  "{a: 1, b: [x]}",
  "[a:1, -2, 'c']",
  "{'a': b:c}",
  "[a b, ]",
  "{a:1}",
  "[[a], {b: c}]",
  "|",
  "|-",
  ">",
  "# c",
  "",
);
/** What begins, ends or goes on where it may, and mostly where it may not. */
const oddWord = fc.constantFrom(
  ">-",
  ">+",
  "|+",
  "|2",
  ">1-",
  "|- # c",
  "&a x",
  "&a",
  "*a",
  "!!str 1",
  "!t",
  "'a",
  "b'",
  '"a',
  'b"',
  'b\\"',
  '"\\x41\\u00e9\\ "',
  "a\\",
  "a\tb",
  "\t",
  "\t# c",
  "c\t",
  "[a,",
  "b]",
  "{a: b,",
  "c}",
  "[a: b]",
  "[? a : b]",
  '{"a":b}',
  '["a":b]',
  "[a,,b]",
  "[, a]",
  "{a, b: }",
  "{? a}",
  "{: a}",
  "[a]: b",
  "? a",
  ": b",
  "- b",
  "<<",
  "a:",
  ":",
  "?",
  "?a",
  ":a",
  "-- a",
  "%a",
  "@a",
  "a # b",
  "a #b",
  "é\u00a0",
  "__proto__",
);
const word = fc.oneof({ weight: 3, arbitrary: usualWord }, { weight: 1, arbitrary: oddWord });
const line = fc.oneof(
  word,
  word.map((value) => `- ${value}`),
  fc.tuple(word, word).map(([key, value]) => `${key}: ${value}`),
  fc.tuple(word, word).map(([key, value]) => `- ${key}: ${value}`),
  fc.tuple(word, word).map(([value, comment]) => `a: ${value} # ${comment}`),
  fc.constantFrom("", "---", "- - a", "-   b: c", "a:", "b:", "c:", "-", "# note"),
  fc.constantFrom(
    "...",
    "... # c",
    "--- a",
    "--- |",
    "--- # c",
    "--- {a: b}",
    "%YAML 1.2",
    "%TAG ! tag:x:",
    "\t",
    "\ta: b",
    "-\ta",
    "a:\tb",
    "? a",
    ": b",
  ),
  fc.constantFrom(
    "? - a",
    ": - b",
    "? |",
    "a: |2",
    "- >-",
    "- ? a",
    "- : a",
    "&a",
    "!!map",
    "a: &a",
    "<<: *a",
    " ",
    "    ",
    "--",
    "..",
    "#",
    "a",
    "b c",
  ),
);
/** Lines under one another, most of them where they could belong. */
const lines = fc
  .array(fc.tuple(fc.constantFrom(0, 0, 0, 1, 2, 2, 2, 4, 4, 6), line), { minLength: 1, maxLength: 9 })
  .map((all) => all.map(([indent, text]) => " ".repeat(indent) + text));
const document = fc.tuple(lines, fc.constantFrom("\n", "\n", "\n", "\r\n", "\r")).map(([all, end]) => all.join(end));

test("what is read of lines put together at random is what is read of trees", () => {
  let plain = 0;
  const property = fc.property(document, fc.constantFrom("", "\n", "\n\n"), (text, end) => {
    if (agrees(text + end)) plain += 1;
  });
  fc.assert(property, { numRuns: runs(5000) });
  expect(plain, "some were right").toBeGreaterThan(runs(100));
});

test("nothing is read that is beyond a limit", () => {
  const limit = fc.record({ maxDepth: fc.integer({ min: 1, max: 5 }), maxParts: fc.integer({ min: 1, max: 40 }) });
  fc.assert(
    fc.property(document, limit, (text, within) => void agrees(text, within)),
    { numRuns: runs(2000) },
  );
});

test("nothing is read of nesting and aliases without end", () => {
  const many = 100_000;
  const nested = ["[", "{a: ", "- ", "? ", "[a: ", "&a [", "!a\n- "].map((begin) => begin.repeat(many));
  const lists = Array.from({ length: 30 }, (_, at) => `a${at}: &a${at} [${`*a${at - 1},`.repeat(at === 0 ? 0 : 9)}]`);
  for (const text of [...nested, lists.join("\n")]) expect(readPlain(text, limits), text.slice(0, 20)).toBeUndefined();
});

test("texts without end are looked at once", () => {
  // Quadratic work would take longer than a test may.
  const [blanks, breaks, more] = [" ", "\n", "  b\n"].map((part) => part.repeat(300_000));
  for (const text of [`a: b${blanks}c\n`, `a: [b${blanks}c]${blanks}d\n`, `a: "b"${blanks}\n`, `${blanks}a: b\n`])
    readPlain(text, limits);
  for (const text of [`a: b${breaks}c: d\n`, `a: b\n${more}c: d\n`, `a: |\n${more}`, `a: >-\n${more}`, `a: "${more}`])
    readPlain(text, limits);
});
