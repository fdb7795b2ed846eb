import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { readYaml, writeYaml, writeYamlDocuments } from "./index.ts";

// Texts that other readers of YAML take for something else, or that need care to be written.
const trickyTexts = [
  "",
  "y",
  "N",
  "yes",
  "off",
  "true",
  "null",
  "~",
  "1",
  "-1",
  "0755",
  "0o17",
  "0x1F",
  "1_000",
  "1e3",
  ".5",
  ".inf",
  "1:30",
  "2001-01-01",
  "<<",
  "=",
  "- a",
  "-",
  "---",
  "...",
  "--- x",
  "? a",
  ": a",
  "a: b",
  "a #b",
  "#a",
  "a:",
  " a",
  "a ",
  "*a",
  "&a",
  "!a",
  "|",
  ">",
  "%a",
  "@a",
  "`a",
  "{a",
  "[a",
  "a, b",
  "'a'",
  '"a"',
  "a'b",
  "it's",
  "\\n",
  "a\nb",
  "a\n",
  "\na",
  " a\nb",
  "a\n\n",
  "\n",
  "a\n b\n\n  c\n",
  "a\tb",
  "\ta",
  "a\t\nb",
  "a\r\nb",
  "\u0085",
  "\u2028x",
  "\ufeff",
  "\u0000",
  "\u007f",
  "😀",
  "\ud800",
  "a \nb",
  "$(HOME)",
  "${{ a }}",
  "{{ a }}",
  "http://x:80/?a=b#c",
  "$",
  "a]b",
  "__proto__",
  "x".repeat(200),
  `${"x".repeat(200)}: y`,
];
const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom(...trickyTexts));
const leaf = fc.oneof(
  text,
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Number.isInteger(n) || Math.abs(n) >= 1e21),
  fc.boolean(),
  fc.constant(null),
);
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(text, tie("value")), { maxLength: 4 }).map((entries): JsonValue => Object.fromEntries(entries)),
  ),
}));

const readAll = (yaml: string): readonly JsonValue[] => {
  const file = readYaml(yaml);
  if (!file.ok) throw new Error(`${JSON.stringify(file.error)} in ${JSON.stringify(yaml)}`);
  return file.value.documents.map((document) => document.value);
};

test("every value survives writing and reading", () => {
  fc.assert(
    fc.property(value, (json) => {
      expect(readAll(writeYaml(json))).toEqual([json]);
    }),
    { numRuns: runs(2_000) },
  );
});

test.each(trickyTexts)("the text %j survives as a value, a key, an item and a document", (tricky) => {
  const json: JsonValue = [tricky, { [tricky]: { [tricky]: [tricky, { a: tricky }] } }, [[tricky]]];
  expect(readAll(writeYaml(json))).toEqual([json]);
  expect(readAll(writeYaml(tricky))).toEqual([tricky]);
});

test("several documents survive writing and reading", () => {
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), (values) => {
      expect(readAll(writeYamlDocuments(values))).toEqual(values);
    }),
  );
});

test("JSON reads as YAML", () => {
  fc.assert(
    fc.property(value, (json) => {
      expect(readAll(JSON.stringify(json, undefined, 1))).toEqual([json]);
    }),
  );
});

test("no text makes the reader throw, and every problem has a place in the text", () => {
  const pieces = [
    "a",
    ":",
    " ",
    "  ",
    "\n",
    "- ",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "'",
    '"',
    "&x ",
    "*x",
    "<<: ",
    "|",
    ">",
    "#",
    "---\n",
    "!!int ",
    "\t",
    "%",
    "1",
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 40 }), (parts) => {
      const source = parts.join("");
      const lines = source.split("\n").length;
      const file = readYaml(source, { file: "x.yaml" });
      const problems = file.ok ? file.value.warnings : file.error;
      expect(file.ok || problems.length > 0).toBe(true);
      for (const { position } of problems) {
        expect(position?.file).toBe("x.yaml");
        expect(position?.line).toBeLessThanOrEqual(lines);
        expect(position?.column).toBeGreaterThan(0);
      }
    }),
    { numRuns: runs(3_000) },
  );
});
