import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { type CelEnvironment, compileExpression, compileTemplate } from "./index.ts";
import { formatAddress, parseAddress } from "./library/addresses.ts";

const environment: CelEnvironment = { variables: { self: "dyn", text: "string" } };

const leaf = fc.oneof(
  fc.string(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }).map((n) => (n === 0 ? 0 : n)),
  fc.boolean(),
  fc.constant(null),
);
const key = fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom("__proto__", "constructor", "prototype"));
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map((entries): JsonValue => Object.fromEntries(entries)),
  ),
}));

test("every value passes through an expression unchanged", () => {
  const program = compileExpression("[self, {'constructor': self}]", environment);
  fc.assert(
    fc.property(value, (self) => {
      const result = program.ok && program.value.evaluate({ self });
      expect(result).toEqual({ ok: true, value: [self, { constructor: self }] });
    }),
  );
});

test("every value equals itself, and is found in a list and a map", () => {
  const program = compileExpression(
    "self == self && self in [self] && [self] == [self] && {'a': self} == {'a': self}",
    environment,
  );
  fc.assert(
    fc.property(value, (self) => {
      expect(program.ok && program.value.evaluate({ self })).toEqual({ ok: true, value: true });
    }),
  );
});

test("no text makes the compiler or the evaluation throw", () => {
  const pieces = [
    "self",
    "text",
    ".",
    "a",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'x'",
    '"',
    "1",
    "1.5",
    "2u",
    "+",
    "-",
    "!",
    "==",
    "in ",
    "?",
    ":",
    "&&",
    ",",
    "all(",
    "map(",
    "x",
    "has(",
    "cel.bind(",
    "size(",
    "matches(",
    "format(",
    " ",
    "\n",
    "b'y'",
    "timestamp(",
    "type(",
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 20 }), (parts) => {
      const program = compileExpression(parts.join(""), environment);
      if (program.ok) program.value.evaluate({ self: { a: [1, { a: "x" }] }, text: "t" });
    }),
    { numRuns: runs(5_000) },
  );
});

test("text around expressions is kept, and values that look like expressions are not computed", () => {
  const text = fc.string().filter((part) => !part.includes("${{") && !part.endsWith("$"));
  fc.assert(
    fc.property(text, fc.string(), text, (before, middle, after) => {
      const template = compileTemplate(`${before}\${{ text }}${after}\${{ 'x' }}`, environment);
      const result = template.ok && template.value.evaluate({ text: `${middle}\${{ self }}` });
      expect(result).toEqual({ ok: true, value: `${before}${middle}\${{ self }}${after}x` });
    }),
  );
});

test("string functions agree with their definitions on code points", () => {
  const programs = {
    substring: compileExpression("text.substring(self.from, self.to)", environment),
    indexOf: compileExpression("text.indexOf(self.part)", environment),
    split: compileExpression("text.split(self.part).join(self.part)", environment),
  };
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(5), fc.nat(5), (text, first, length) => {
      const points = Array.from(text);
      const from = Math.min(first, points.length);
      const to = Math.min(from + length, points.length);
      const part = points.slice(from, to).join("");
      const run = (name: keyof typeof programs) => {
        const program = programs[name];
        return program.ok && program.value.evaluate({ text, self: { from, to, part } });
      };
      expect(run("substring")).toEqual({ ok: true, value: part });
      expect(run("split")).toEqual({ ok: true, value: text });
      expect(run("indexOf")).toEqual({ ok: true, value: Array.from(text.slice(0, text.indexOf(part))).length });
    }),
  );
});

test("addresses survive writing and reading, all but IPv4 addresses in disguise, which are none", () => {
  const groups = fc.array(fc.oneof(fc.constant(0n), fc.bigInt(0n, 65_535n)), { minLength: 8, maxLength: 8 });
  fc.assert(
    fc.property(groups, (parts) => {
      const bits = parts.reduce((sum, part) => sum * 65_536n + part, 0n);
      const text = formatAddress({ family: 6, bits });
      expect(parseAddress(text)).toEqual(bits >> 32n === 0xffffn ? undefined : { family: 6, bits });
      expect(text.split("::").length).toBeLessThanOrEqual(2);
      expect(text).not.toContain(":::");
    }),
    { examples: [[[0n, 0n, 0n, 0n, 0n, 0xffffn, 0n, 0n]]] },
  );
});
