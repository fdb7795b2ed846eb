import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { escapeFieldValue, matchesFields, parseFieldSelector } from "./field-selector.ts";
import {
  formatLabelSelector,
  type LabelRequirement,
  matchesLabels,
  parseLabelSelector,
  readLabelSelector,
} from "./label-selector.ts";
import { compareResourceVersions, isAtLeast } from "./resource-version.ts";
import { seededRandom } from "./seeded-random.ts";
import { TokenBucket } from "./token-bucket.ts";

function matches(selector: string, labels: Record<string, string> | undefined): boolean {
  const parsed = parseLabelSelector(selector);
  if (!parsed.ok) throw new Error(parsed.error);
  return matchesLabels(parsed.value, labels);
}

describe("label selectors", () => {
  test.each([
    ["", {}, true],
    ["a", { a: "" }, true],
    ["a", {}, false],
    ["!a", {}, true],
    ["!a", { a: "1" }, false],
    ["a=1", { a: "1" }, true],
    ["a==1", { a: "2" }, false],
    ["a=", { a: "" }, true],
    ["a!=1", {}, true],
    ["a!=1", { a: "1" }, false],
    ["a in (1,2)", { a: "2" }, true],
    ["a in (1, 2)", {}, false],
    ["a in ()", { a: "" }, true],
    ["a notin (1,2)", {}, true],
    ["a notin (1,2)", { a: "1" }, false],
    ["a>5", { a: "6" }, true],
    ["a>5", { a: "x" }, false],
    ["a < 5", { a: "-1" }, true],
    ["a lt 5", { a: "5" }, false],
    ["a=1,b=2", { a: "1", b: "2" }, true],
    [" a = 1 , !b ", { a: "1" }, true],
    ["in in (in)", { in: "in" }, true],
    ["slipway.dev/run=x.y-z_1", { "slipway.dev/run": "x.y-z_1" }, true],
  ])("%j on %j is %j", (selector, labels, expected) => {
    expect(matches(selector, labels)).toBe(expected);
  });

  test("members that every object inherits are no labels", () => {
    expect(matches("constructor", {})).toBe(false);
    expect(matches("!toString", {})).toBe(true);
    expect(matches("a", undefined)).toBe(false);
  });

  test.each([
    ["a in (", 'expected "," or ")" at character 7, found the end'],
    ["a in 1", 'expected "(" at character 6, found "1"'],
    ["=1", 'expected a label key at character 1, found "="'],
    ["a=1,", "expected a label key at character 5, found the end"],
    ["a b", "expected an operator (=, !=, in, notin, >, <) at character 4, found the end"],
    ["a=1 b=2", 'expected "," at character 5, found "b"'],
    ["a>x", "expected an integer at character 4, found the end"],
    ["!", "expected a label key at character 2, found the end"],
  ])("%j is refused: %s", (selector, error) => {
    expect(parseLabelSelector(selector)).toEqual({ ok: false, error });
  });

  test("a selector of ten thousand terms is refused", () => {
    expect(parseLabelSelector(Array.from({ length: 10_000 }, () => "a").join(","))).toMatchObject({ ok: false });
  });

  test("what is formatted reads the same", () => {
    const word = fc
      .stringMatching(/^[a-z][a-z0-9./_-]{0,10}$/)
      .filter((text) => !["in", "notin", "gt", "lt"].includes(text));
    const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
      fc.record({
        key: word,
        operator: fc.constantFrom("In", "NotIn"),
        values: fc.array(word, { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ key: word, operator: fc.constantFrom("Exists", "DoesNotExist") }),
      fc.record({ key: word, operator: fc.constantFrom("Gt", "Lt"), bound: fc.integer() }),
    );
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 5 }), (selector) => {
        expect(parseLabelSelector(formatLabelSelector(selector))).toEqual({ ok: true, value: selector });
      }),
    );
  });

  test("a selector of a Job or Deployment is read", () => {
    const value = {
      matchLabels: { app: "web" },
      matchExpressions: [
        { key: "tier", operator: "NotIn", values: ["db"] },
        { key: "old", operator: "DoesNotExist" },
      ],
    };
    const read = readLabelSelector(value);
    expect(read.ok && formatLabelSelector(read.value)).toBe("app=web,tier!=db,!old");
  });

  test.each([
    [undefined, "expected a label selector"],
    [{ matchLabels: [] }, "matchLabels must be a map"],
    [{ matchLabels: { a: 1 } }, "matchLabels[a] must be a text"],
    [{ matchExpressions: {} }, "must be a list"],
    [{ matchExpressions: [{}] }, "needs a key"],
    [{ matchExpressions: [{ key: "a", operator: "Near" }] }, 'unknown operator "Near"'],
    [{ matchExpressions: [{ key: "a", operator: "In", values: [] }] }, "at least one value"],
  ])("%j is refused: %s", (value, message) => {
    const read = readLabelSelector(value);
    expect(read.ok ? "" : read.error).toContain(message);
  });
});

describe("field selectors", () => {
  const valueOf = (path: string) => ({ "metadata.name": "a,b=c\\d", "status.phase": "Running" })[path];
  const matches = (selector: string): boolean => {
    const parsed = parseFieldSelector(selector);
    if (!parsed.ok) throw new Error(parsed.error);
    return matchesFields(parsed.value, valueOf);
  };

  test.each([
    ["", true],
    ["status.phase=Running", true],
    ["status.phase==Running", true],
    ["status.phase!=Running", false],
    ["status.phase!=Failed,missing=", true],
    ["missing!=", false],
    ["metadata.name=a\\,b\\=c\\\\d", true],
  ])("%j is %j", (selector, expected) => {
    expect(matches(selector)).toBe(expected);
  });

  test("an escaped value reads as itself", () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        expect(parseFieldSelector(`a=${escapeFieldValue(value)}`)).toEqual({
          ok: true,
          value: [{ path: "a", operator: "=", value }],
        });
      }),
    );
  });

  test.each(["a", "=b", "a=\\x", "a=b,"])("%j", (selector) => {
    expect(parseFieldSelector(selector)).toMatchObject(selector === "a=b," ? { ok: true } : { ok: false });
  });
});

describe("resource versions", () => {
  test("are compared as integers of any length", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 80n }), fc.bigInt({ min: 0n, max: 2n ** 80n }), (a, b) => {
        const order = compareResourceVersions(String(a), String(b)) ?? Number.NaN;
        expect(Math.sign(order)).toBe(a < b ? -1 : a > b ? 1 : 0);
      }),
    );
  });

  test.each([
    ["x", "1"],
    ["01", "1"],
    ["", "1"],
    ["-1", "1"],
  ])("%j and %j say nothing", (a, b) => {
    expect(compareResourceVersions(a, b)).toBeUndefined();
    expect(isAtLeast(a, b)).toBe(false);
    expect(isAtLeast(a, a)).toBe(true);
  });
});

describe("token buckets", () => {
  test("let a burst through, then the rate", () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 3 });
    expect([1, 2, 3, 4].map(() => bucket.tryTake(0))).toEqual([true, true, true, false]);
    expect([bucket.tryTake(99), bucket.tryTake(100), bucket.tryTake(100)]).toEqual([false, true, false]);
    expect([1, 2, 3, 4].map(() => bucket.tryTake(60_000))).toEqual([true, true, true, false]);
  });

  test("tell whoever takes in advance how long to wait", () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 1 });
    expect([bucket.reserve(0), bucket.reserve(0), bucket.reserve(0)]).toEqual([0, 100, 200]);
    expect(bucket.reserve(300)).toBe(0);
  });

  test("gain nothing from a clock that goes back", () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 1 });
    expect([bucket.tryTake(1000), bucket.tryTake(0), bucket.tryTake(50), bucket.tryTake(100)]).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });
});

test("a seed gives the same numbers every time, spread over [0, 1)", () => {
  const numbers = Array.from({ length: 1000 }, seededRandom(42));
  expect(numbers).toEqual(Array.from({ length: 1000 }, seededRandom(42)));
  expect(Array.from({ length: 5 }, seededRandom(43))).not.toEqual(numbers.slice(0, 5));
  expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...numbers)).toBeLessThan(1);
  const mean = numbers.reduce((sum, number) => sum + number, 0) / 1000;
  expect(Math.abs(mean - 0.5)).toBeLessThan(0.05);
});
