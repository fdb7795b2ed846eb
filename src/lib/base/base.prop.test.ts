import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "#test/support/property-runs.ts";
import { formatInstant, formatTime, jsonEquals, parseDuration, parseInstant } from "./index.ts";
import { hashName } from "./index.node.ts";

test("an instant survives writing and reading, to the digit that is written", () => {
  fc.assert(
    fc.property(fc.integer({ min: Date.UTC(1970, 0, 1), max: Date.UTC(9999, 11, 31) }), (at) => {
      expect(parseInstant(formatInstant(at))).toBe(at);
      expect(parseInstant(formatTime(at))).toBe(Math.floor(at / 1000) * 1000);
    }),
  );
});

test("no day is read that the calendar does not have", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9999 }), fc.nat(13), fc.nat(32), (year, month, day) => {
      const [y, m, d] = [String(year).padStart(4, "0"), ...[month, day].map((n) => String(n).padStart(2, "0"))];
      const at = parseInstant(`${y}-${m}-${d}T00:00:00Z`);
      if (at !== undefined) expect(formatInstant(at).slice(0, 10)).toBe(`${y}-${m}-${d}`);
      else expect(month < 1 || month > 12 || day < 1 || day > 28).toBe(true);
    }),
    { numRuns: runs(1_000) },
  );
});

test("the parts of a duration add up", () => {
  const units = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;
  const part = fc.tuple(fc.nat(100_000), fc.constantFrom("h", "m", "s", "ms"));
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (parts) => {
      const text = parts.map(([count, unit]) => `${count}${unit}`).join("");
      const value = parts.reduce((sum, [count, unit]) => sum + count * units[unit], 0);
      expect(parseDuration(text)).toEqual({ ok: true, value });
      expect(parseDuration(`-${text}`)).toEqual({ ok: true, value: value === 0 ? 0 : -value });
    }),
  );
});

test("a duration of decimals is exact to the millisecond", () => {
  fc.assert(
    fc.property(fc.nat(1_000_000_000), (millis) => {
      const text = `${Math.floor(millis / 1000)}.${String(millis % 1000).padStart(3, "0")}s`;
      expect(parseDuration(text)).toEqual({ ok: true, value: millis });
    }),
    { numRuns: runs(500) },
  );
});

test("values are equal exactly when their sorted texts are", () => {
  const sorted = (value: unknown): string =>
    JSON.stringify(value, (_, member: unknown) =>
      typeof member === "object" && member !== null && !Array.isArray(member)
        ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
        : member,
    );
  const small = fc.jsonValue({ maxDepth: 2, stringUnit: fc.constantFrom("a", "b") });
  fc.assert(
    fc.property(small, small, (a, b) => {
      expect(jsonEquals(a, b)).toBe(sorted(a) === sorted(b));
      expect(jsonEquals(a, JSON.parse(JSON.stringify(a)))).toBe(true);
    }),
    { numRuns: runs(500) },
  );
});

test("a shorter hashed name is the beginning of a longer one", () => {
  const parts = fc.array(fc.oneof(fc.string(), fc.nat()), { maxLength: 4 });
  fc.assert(
    fc.property(parts, fc.integer({ min: 1, max: 51 }), (given, length) => {
      const name = hashName(given, length);
      expect(name).toMatch(/^[a-z2-7]+$/);
      expect(name).toHaveLength(length);
      expect(hashName(given, 51).startsWith(name)).toBe(true);
    }),
  );
});
