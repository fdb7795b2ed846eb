import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  formatLabelSelector,
  type LabelRequirement,
  matchesLabels,
  parseLabelSelector,
  readLabelSelector,
} from "./label-selector.ts";

function matches(selector: string, labels: Record<string, string> | undefined): boolean {
  const parsed = parseLabelSelector(selector);
  if (!parsed.ok) throw new Error(parsed.error);
  return matchesLabels(parsed.value, labels);
}

describe("label selectors", () => {
  test.each<[string, Record<string, string>, boolean]>([
    ["", {}, true],
    ["  ", {}, true],
    ["a", { a: "" }, true],
    ["a", {}, false],
    ["!a", {}, true],
    ["!a", { a: "" }, false],
    ["a=1", { a: "1" }, true],
    [" a = 1 ", { a: "1" }, true],
    ["a==1", { a: "1" }, true],
    ["a==1", { a: "2" }, false],
    ["a=", { a: "" }, true],
    ["a=", {}, false],
    ["a=,b=1", { a: "", b: "1" }, true],
    ["a!=1", {}, true],
    ["a!=1", { a: "2" }, true],
    ["a!=1", { a: "1" }, false],
    ["a!=", { a: "" }, false],
    ["a in (1,2)", { a: "2" }, true],
    ["a in(1,2)", { a: "1" }, true],
    ["a in (1, 2)", {}, false],
    ["a in ()", { a: "" }, true],
    ["a in ()", {}, false],
    ["a in (,x)", { a: "" }, true],
    ["a in (,x)", { a: "x" }, true],
    ["a notin (1,2)", {}, true],
    ["a notin (1,2)", { a: "1" }, false],
    ["a notin ()", { a: "" }, false],
    ["a>5", { a: "6" }, true],
    ["a>5", { a: "5" }, false],
    ["a>5", { a: "x" }, false],
    ["a>5", {}, false],
    ["a < 5", { a: "4" }, true],
    ["a < 5", { a: "5" }, false],
    ["a < 5", {}, false],
    ["a>9007199254740993", { a: "9007199254740994" }, true],
    ["a>9007199254740993", { a: "9007199254740993" }, false],
    ["a>1", { a: "9223372036854775807" }, true],
    ["a>1", { a: "9223372036854775808" }, false],
    ["a=1,b=2", { a: "1", b: "2" }, true],
    ["a=1,b=2", { a: "1" }, false],
    [" a = 1 , !b ", { a: "1" }, true],
    ["a=b,c!=d,!e,f", { a: "b", c: "x", f: "" }, true],
    ["a=b,c!=d,!e,f", { a: "b", c: "x" }, false],
    ["in in (in)", { in: "in" }, true],
    ["in=notin", { in: "notin" }, true],
    ["slipway.dev/run=x.y-z_1", { "slipway.dev/run": "x.y-z_1" }, true],
  ])("%j on %j is %j", (selector, labels, expected) => {
    expect(matches(selector, labels)).toBe(expected);
  });

  test("members that every object inherits are no labels", () => {
    expect(matches("constructor", {})).toBe(false);
    expect(matches("!toString", {})).toBe(true);
    expect(matches("a", undefined)).toBe(false);
    expect(matches("!a,b!=1", undefined)).toBe(true);
  });

  test.each([
    ["a in (", 'expected "," or ")" at character 7, found the end'],
    ["a in (x", 'expected "," or ")" at character 8, found the end'],
    ["a in 1", 'expected "(" at character 6, found "1"'],
    ["a in ()x", 'expected "," at character 8, found "x"'],
    ["=1", 'expected a label key at character 1, found "="'],
    [",", 'expected a label key at character 1, found ","'],
    ["a,,b", 'expected a label key at character 3, found ","'],
    ["a=1,", "expected a label key at character 5, found the end"],
    ["(a)", 'expected a label key at character 1, found "("'],
    ["a b", 'expected an operator (=, !=, in, notin, >, <) at character 3, found "b"'],
    ["a gt 5", 'expected an operator (=, !=, in, notin, >, <) at character 3, found "gt"'],
    ["a ( b", 'expected an operator (=, !=, in, notin, >, <) at character 3, found "("'],
    ["a=1 b=2", 'expected "," at character 5, found "b"'],
    ["a==b==c", 'expected "," at character 5, found "=="'],
    ["a=b!", 'expected "," at character 4, found "!"'],
    ["!x=a", 'expected "," at character 3, found "="'],
    ["a>x", 'expected a whole number at character 3, found "x"'],
    ["a> -1", 'expected a whole number at character 4, found "-1"'],
    ["a>", "expected a whole number at character 3, found the end"],
    ["a>99999999999999999999", 'expected a whole number at character 3, found "99999999999999999999"'],
    ["a>9223372036854775808", 'expected a whole number at character 3, found "9223372036854775808"'],
    ["!", "expected a label key at character 2, found the end"],
    ["!!a", 'expected a label key at character 2, found "!"'],
  ])("%j is refused: %s", (selector, error) => {
    expect(parseLabelSelector(selector)).toEqual({ ok: false, error });
  });

  test.each([
    ["/a=b", 'key "/a": the part before the slash'],
    ["A.example/x=b", 'key "A.example/x": the part before the slash'],
    ["a.b/c/d", 'key "a.b/c/d": the name must consist of'],
    ["-a=b", 'key "-a": the name must consist of'],
    [`${"k".repeat(64)}=b`, "the name must be no more than 63 characters"],
    ["!$", 'key "$": the name must consist of'],
    ["a=-b", 'value "-b" of a: must be empty or consist of'],
    [`a!=${"v".repeat(64)}`, "must be no more than 63 characters"],
    ["a in (x,ä)", 'value "ä" of a: must be empty'],
  ])("%j can never match and is refused: %s", (selector, message) => {
    const parsed = parseLabelSelector(selector);
    expect(parsed.ok ? "" : parsed.error).toContain(message);
  });

  test.each([
    [1000, true],
    [1001, false],
    [10_000, false],
  ])("%d terms may be read: %j", (count, ok) => {
    expect(parseLabelSelector(Array.from({ length: count }, () => "a").join(",")).ok).toBe(ok);
  });
});

const word = fc.stringMatching(/^[a-z]([a-z0-9._-]{0,10}[a-z0-9])?$/);
const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({
    key: word,
    operator: fc.constantFrom("In", "NotIn"),
    values: fc.array(fc.oneof(word, fc.constant("")), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ key: word, operator: fc.constantFrom("Exists", "DoesNotExist") }),
  fc.record({ key: word, operator: fc.constantFrom("Gt", "Lt"), bound: fc.bigInt(0n, 2n ** 63n - 1n) }),
);

describe("laws of label selectors", () => {
  test("what is formatted reads the same", () => {
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 5 }), (selector) => {
        expect(parseLabelSelector(formatLabelSelector(selector))).toEqual({ ok: true, value: selector });
      }),
    );
  });

  test("no text makes the reader fail otherwise than by a refusal", () => {
    const text = fc.array(
      fc.constantFrom("a", "in", "notin", "=", "==", "!=", "!", "(", ")", ",", "<", ">", " ", "\n", "1", "é"),
    );
    fc.assert(
      fc.property(text, (parts) => {
        const parsed = parseLabelSelector(parts.join(""));
        // What was read can be written and read again.
        if (parsed.ok) expect(parseLabelSelector(formatLabelSelector(parsed.value))).toEqual(parsed);
        else expect(parsed.error).not.toBe("");
      }),
      { numRuns: 500 },
    );
  });

  test("a condition and its opposite never agree", () => {
    const opposites = [
      ["a in (x,y)", "a notin (x,y)"],
      ["a=x", "a!=x"],
      ["a", "!a"],
    ] as const;
    const labels = fc.dictionary(fc.constantFrom("a", "b"), fc.constantFrom("", "x", "y", "z"));
    fc.assert(
      fc.property(fc.constantFrom(...opposites), labels, ([one, other], given) => {
        expect(matches(one, given)).toBe(!matches(other, given));
      }),
    );
  });
});

describe("the selector of a Job or Deployment", () => {
  test("is read into the same terms", () => {
    const value = {
      matchLabels: { app: "web" },
      matchExpressions: [
        { key: "tier", operator: "NotIn", values: ["db"] },
        { key: "old", operator: "DoesNotExist" },
        { key: "zone", operator: "In", values: ["a", ""] },
        { key: "x", operator: "Exists", values: [] },
      ],
    };
    const read = readLabelSelector(value);
    expect(read.ok && formatLabelSelector(read.value)).toBe("app=web,tier!=db,!old,zone in (a,),x");
  });

  test("selects everything when it is empty", () => {
    expect(readLabelSelector({})).toEqual({ ok: true, value: [] });
  });

  test.each([
    [undefined, "expected a label selector"],
    [null, "expected a label selector"],
    ["app=web", "expected a label selector"],
    [{ matchLabels: [] }, "matchLabels must be a map"],
    [{ matchLabels: { a: 1 } }, "matchLabels[a] must be a text"],
    [{ matchLabels: { "a b": "c" } }, 'key "a b"'],
    [{ matchLabels: { a: "b c" } }, 'value "b c" of a'],
    [{ matchExpressions: {} }, "must be a list"],
    [{ matchExpressions: [{}] }, "needs a key"],
    [{ matchExpressions: ["a"] }, "needs a key"],
    [{ matchExpressions: [{ key: "a", operator: "Near" }] }, 'unknown operator "Near"'],
    [{ matchExpressions: [{ key: "a" }] }, "unknown operator undefined"],
    [{ matchExpressions: [{ key: "a", operator: "In", values: [] }] }, "at least one value"],
    [{ matchExpressions: [{ key: "a", operator: "In" }] }, "at least one value"],
    [{ matchExpressions: [{ key: "a", operator: "In", values: [1] }] }, "must be texts"],
    [{ matchExpressions: [{ key: "a", operator: "In", values: "x" }] }, "must be a list"],
    [{ matchExpressions: [{ key: "a", operator: "Exists", values: ["x"] }] }, "takes no values"],
    [{ matchExpressions: [{ key: "-", operator: "Exists" }] }, 'key "-"'],
  ])("%j is refused: %s", (value, message) => {
    const read = readLabelSelector(value);
    expect(read.ok ? "" : read.error).toContain(message);
  });
});
