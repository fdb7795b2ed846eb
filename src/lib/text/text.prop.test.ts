import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "#test/support/property-runs.ts";
import { compareQuantities, compileRe2, editDistance, formatQuantity, parseOutputs, parseQuantity } from "./index.ts";

const quantityText = fc
  .tuple(
    fc.integer({ min: -100_000, max: 100_000 }),
    fc.constantFrom("n", "u", "m", "", "k", "M", "Ki", "Mi", "Gi", "e2", "e-4"),
  )
  .map(([digits, suffix]) => `${digits}${suffix}`);

test("a quantity survives its canonical form, which is its own canonical form", () => {
  fc.assert(
    fc.property(quantityText, (text) => {
      const first = parseQuantity(text);
      if (!first.ok) throw new Error(first.error);
      const canonical = formatQuantity(first.value);
      const second = parseQuantity(canonical);
      if (!second.ok) throw new Error(second.error);
      expect(compareQuantities(first.value, second.value)).toBe(0);
      expect(formatQuantity(second.value)).toBe(canonical);
    }),
  );
});

test("the edit distance is a distance", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 8 });
  fc.assert(
    fc.property(word, word, (a, b) => {
      expect(editDistance(a, a)).toBe(0);
      expect(editDistance(a, b)).toBe(editDistance(b, a));
      expect(editDistance(a, b)).toBeGreaterThanOrEqual(Math.abs(a.length - b.length));
      expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
    }),
  );
});

test("a limit changes no distance within it, and keeps every other above it", () => {
  const words = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 12 });
  fc.assert(
    fc.property(words, words, fc.nat(5), (a, b, limit) => {
      const distance = editDistance(a, b);
      const limited = editDistance(a, b, limit);
      if (distance <= limit) expect(limited).toBe(distance);
      else expect(limited).toBeGreaterThan(limit);
    }),
  );
});

test("outputs written as lines are read back", () => {
  const key = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.-]{0,8}$/);
  const value = fc.string().filter((text) => !text.includes("\r"));
  fc.assert(
    fc.property(fc.dictionary(key, value, { noNullPrototype: true }), (outputs) => {
      const text = Object.entries(outputs)
        .map(([name, content]) => (content.includes("\n") ? `${name}<<@@\n${content}\n@@` : `${name}=${content}`))
        .join("\n");
      expect(parseOutputs(text)).toEqual({ ok: true, value: outputs });
    }),
  );
});

test("RE2 agrees with RegExp where both know the syntax, and no pattern makes it throw", () => {
  const pieces = fc.constantFrom(
    "a",
    "b",
    "c",
    ".",
    "*",
    "+",
    "?",
    "|",
    "(",
    ")",
    "[ab]",
    "[^a]",
    "^",
    "$",
    "{2}",
    "{1,3}",
    "\\b",
    "(?:",
  );
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 12 });
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), text, (parts, subject) => {
      const source = parts.join("");
      const compiled = compileRe2(source);
      const native = asRegExp(source);
      if (compiled.ok && native !== undefined) expect(compiled.value.test(subject)).toBe(native.test(subject));
    }),
    { numRuns: runs(3_000) },
  );
});

function asRegExp(source: string): RegExp | undefined {
  try {
    return new RegExp(source);
  } catch {
    // RE2 repeats assertions ("$*"), RegExp does not.
    return undefined;
  }
}
