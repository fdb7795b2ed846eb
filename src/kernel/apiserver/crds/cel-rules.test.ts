import { describe, expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import type { ValidationRule } from "#lib/schema/index.ts";
import { compileCelRule } from "./cel-rules.ts";

function evaluate(rule: ValidationRule, self: JsonValue, oldSelf?: JsonValue): true | string {
  const compiled = compileCelRule(rule);
  if (!compiled.ok) throw new Error(compiled.error.message);
  const outcome = compiled.value.evaluate(self, oldSelf, { left: 10_000_000 });
  return outcome.ok ? true : outcome.error.message;
}

describe("a rule", () => {
  test.each<[string, JsonValue, boolean]>([
    ["self.replicas <= self.maxReplicas", { replicas: 3, maxReplicas: 3 }, true],
    ["self.replicas <= self.maxReplicas", { replicas: 4, maxReplicas: 3 }, false],
    ["has(self.a) != has(self.b)", { a: 1 }, true],
    ["has(self.a) != has(self.b)", { a: 1, b: 2 }, false],
    ["self.all(x, x > 0)", [1, 2], true],
    ["self.exists_one(x, x == 'a')", ["a", "a"], false],
    ["self.startsWith('kube')", "kube-system", true],
    ["self.matches('^[a-z]+$')", "abc1", false],
    ["!has(self.items) || self.items.size() < 2", {}, true],
    ["quantity(self).isGreaterThan(quantity('1Gi'))", "2Gi", true],
    ["isURL(self) && url(self).getHost() == 'example.org'", "https://example.org/x", true],
  ])("%s of %j is %s", (rule, self, expected) => {
    expect(evaluate({ rule }, self) === true).toBe(expected);
  });

  test.each<[string, JsonValue, boolean]>([
    ["self.my__dash__field > 1", { "my-field": 2 }, true],
    ["self.a__dot__b.__namespace__ == 'x'", { "a.b": { namespace: "x" } }, true],
    ["self.all(p, has(p.__namespace__))", [{ namespace: "x" }, {}], false],
    ["self.a__underscores__b == 1 && self.c__slash__d == 2", { a__b: 1, "c/d": 2 }, true],
    ["self.plain == 1 && !has(self.__if__)", { plain: 1 }, true],
    ["self.labels['a-b'] == 'c' && self.d__dash__e == 1", { labels: { "a-b": "c" }, "d-e": 1 }, true],
    ["self.my__custom__name == 1", { my__custom__name: 1 }, true],
  ])("%s of %j, whose names are no identifiers, is %s", (rule, self, expected) => {
    expect(evaluate({ rule }, self) === true).toBe(expected);
  });

  test("that looks at the old value says so", () => {
    const transition = compileCelRule({ rule: "self >= oldSelf" });
    expect(transition).toMatchObject({ ok: true, value: { usesOldSelf: true } });
    expect(compileCelRule({ rule: "self >= 0" })).toMatchObject({ ok: true, value: { usesOldSelf: false } });
    expect(evaluate({ rule: "self >= oldSelf" }, 1, 2)).toBe("failed rule: self >= oldSelf");
    expect(evaluate({ rule: "self >= oldSelf" }, 2, 2)).toBe(true);
  });

  test("whose old value is optional is asked about new values too, and sees that there is none", () => {
    const once = {
      rule: "!oldSelf.hasValue() || oldSelf.value() == self",
      messageExpression: "'was ' + oldSelf.orValue('nothing')",
      optionalOldSelf: true,
    };
    expect(compileCelRule(once)).toMatchObject({ ok: true, value: { usesOldSelf: true, runsWithoutOldSelf: true } });
    expect(evaluate(once, "a")).toBe(true);
    expect(evaluate(once, "a", "a")).toBe(true);
    expect(evaluate(once, "b", "a")).toBe("was a");
    const rises = { rule: "self.n >= oldSelf.?n.orValue(0) // or begins", optionalOldSelf: true };
    expect(evaluate(rises, { n: 0 })).toBe(true);
    expect(evaluate(rises, { n: 1 }, { n: 2 })).toBe(`failed rule: ${rises.rule}`);
  });

  test("that fails to evaluate refuses the object and says why", () => {
    expect(evaluate({ rule: " self.missing > 0 " }, {})).toBe("no such key: missing evaluating rule: self.missing > 0");
    expect(evaluate({ rule: "self.missing > 0", message: "is missing" }, {})).toMatch(/ evaluating rule: is missing$/);
  });

  test("that would cost too much is stopped", () => {
    const list = Array.from({ length: 2_000 }, (_, index) => index);
    expect(evaluate({ rule: "self.all(x, self.all(y, x + y >= 0))" }, list)).toMatch(/no further validation rules/);
  });

  test("takes what it and its message spend off the budget", () => {
    const compiled = compileCelRule({ rule: "self.all(x, x < 3)", messageExpression: "'not ' + string(self.size())" });
    if (!compiled.ok) throw new Error(compiled.error.message);
    const budget = { left: 1_000 };
    expect(compiled.value.evaluate([1, 2], undefined, budget)).toEqual({ ok: true, value: true });
    const afterOne = budget.left;
    expect(afterOne).toBeLessThan(1_000);
    expect(compiled.value.evaluate([1, 3], undefined, budget)).toEqual({
      ok: false,
      error: { kind: "refused", message: "not 2" },
    });
    expect(afterOne - budget.left).toBeGreaterThan(1_000 - afterOne);
  });
});

describe("the message", () => {
  test.each<[Omit<ValidationRule, "rule">, string]>([
    [{}, "failed rule: self.n > 1"],
    [{ message: "too small" }, "too small"],
    [{ message: "too small", messageExpression: "'n is ' + string(self.n)" }, "n is 1"],
    [{ message: "too small", messageExpression: "self.missing" }, "too small"],
    [{ message: "too small", messageExpression: "'  '" }, "too small"],
    [{ message: " too small ", messageExpression: "'a\\nb'" }, "too small"],
    [{ message: "too small", messageExpression: `'${"x".repeat(5_121)}'` }, "too small"],
    [{ message: "too small", messageExpression: "frobnicate(self)" }, "too small"],
  ])("of %j is %s", (rule, expected) => {
    expect(evaluate({ rule: "self.n > 1", ...rule }, { n: 1 })).toBe(expected);
  });
});

describe("without a program", () => {
  test.each<[ValidationRule, "invalid" | "unsupported"]>([
    [{ rule: "self.n >" }, "invalid"],
    [{ rule: "other.n > 1" }, "invalid"],
    [{ rule: "'text'" }, "invalid"],
    [{ rule: "self.n.frobnicate() > 1" }, "unsupported"],
    [{ rule: "frobnicate(self)" }, "unsupported"],
    [{ rule: "format.dns1123Label().validate(self) == null" }, "unsupported"],
    [{ rule: "true", optionalOldSelf: true }, "invalid"],
    [{ rule: "true", optionalOldSelf: false }, "invalid"],
    [{ rule: "true", messageExpression: "'" }, "invalid"],
    [{ rule: "true", messageExpression: "other.n" }, "invalid"],
    [{ rule: "true", messageExpression: "1 + 1" }, "invalid"],
    [{ rule: "true) || (oldSelf.hasValue()", optionalOldSelf: true }, "invalid"],
  ])("the rule %j is %s", (rule, kind) => {
    expect(compileCelRule(rule)).toMatchObject({ ok: false, error: { kind } });
  });
});
