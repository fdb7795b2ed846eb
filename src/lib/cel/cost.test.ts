import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { type CelEnvironment, compileExpression } from "./index.ts";

const environment: CelEnvironment = { variables: { items: "list", text: "string", self: "dyn" } };

function evaluate(source: string, bindings: JsonObject, costLimit?: number) {
  const program = compileExpression(source, environment);
  if (!program.ok) throw new Error(program.error.message);
  return program.value.evaluate(bindings, costLimit === undefined ? {} : { costLimit });
}
const tooExpensive = (limit: number) => ({
  ok: false,
  error: `the evaluation costs more than its limit of ${limit} units`,
});

const items = Array.from({ length: 200 }, (_, index) => index);
const long = "a".repeat(100_000);

test("ordinary rules over a thousand items fit into the default limit", () => {
  const thousand = Array.from({ length: 1_000 }, (_, index) => ({ name: `item-${index}`, weight: index }));
  const rule = "items.all(i, i.name.startsWith('item-') && i.weight >= 0 && i.weight < 5000)";
  expect(evaluate(rule, { items: thousand })).toEqual({ ok: true, value: true });
});

test.each([
  ["nested all", "items.all(a, items.all(b, items.all(c, a + b + c >= 0)))"],
  ["nested exists", "items.exists(a, items.exists(b, items.exists(c, a + b + c < 0)))"],
  ["nested map", "items.map(a, items.map(b, items.map(c, a)))"],
  ["nested filter", "items.filter(a, items.filter(b, items.filter(c, true).size() > 0).size() > 0)"],
  ["loops that hide errors", "items.all(a, items.all(b, items.all(c, self.missing)))"],
  ["loops behind or", "items.all(a, items.all(b, items.all(c, c >= 0)) || true)"],
  ["searching a long text again and again", "items.all(a, !text.contains('b'))"],
  ["matching a long text again and again", "items.all(a, !text.matches('b$'))"],
  ["a pattern that is large itself", "text.matches('[a-c]{1000}[b-d]{1000}[c-e]{1000}')"],
  ["a large pattern of the function form", "matches(text, '[a-c]{1000}[b-d]{1000}[c-e]{1000}')"],
  [
    "a pattern that is computed anew in every round",
    "items.all(a, !'x'.matches('[a-z]{1000}[b-y]{1000}[c-x]{1000}' + string(a)))",
  ],
  ["comparing long lists again and again", "items.all(a, items.all(b, items == items))"],
  ["membership in a long list again and again", "items.all(a, items.all(b, !(-1 in items)))"],
  ["a text that doubles", doubling(40)],
  ["a list that doubles", `cel.bind(l0, items, ${listDoubling(30)})`],
])("%s is stopped", (_, source) => {
  expect(evaluate(source, { items, text: long, self: {} })).toEqual(tooExpensive(100_000));
});

function doubling(times: number): string {
  const open = Array.from({ length: times }, (_, n) => `cel.bind(t${n + 1}, t${n} + t${n}, `).join("");
  return `cel.bind(t0, text, ${open}t${times}${")".repeat(times + 1)}`;
}

function listDoubling(times: number): string {
  const open = Array.from({ length: times }, (_, n) => `cel.bind(l${n + 1}, l${n} + l${n}, `).join("");
  return `${open}l${times}.size()${")".repeat(times)}`;
}

test.each([
  ["text.replace('', text)", "the text would be longer than 4000000 characters"],
  ["items.map(i, 'a').join(text)", "the text would be longer than 4000000 characters"],
])("%s is refused before it is made", (source, message) => {
  expect(evaluate(source, { items, text: long })).toEqual({ ok: false, error: message });
});

test("a pattern that makes ordinary engines hang ends at once", () => {
  expect(evaluate("text.matches('^(a+)+$')", { text: `${"a".repeat(50_000)}!` })).toEqual({ ok: true, value: false });
});

test("the searches of findAll are paid for after it", () => {
  const text = "a".repeat(1_000);
  expect(evaluate("text.findAll('a.*z|a').size()", { text }, 1_000_000)).toEqual({ ok: true, value: 1_000 });
  expect(evaluate("text.findAll('a.*z|a').size()", { text }, 10_000)).toEqual(tooExpensive(10_000));
  expect(evaluate("text.findAll('[0-9]+').size()", { text }, 10_000)).toEqual({ ok: true, value: 0 });
  expect(evaluate("text.findAll('[a-z]{900}!|a')", { text: long }, 10_000_000)).toMatchObject({
    ok: false,
    error: expect.stringContaining("too long for the regular expression"),
  });
});

test("a pattern that stands in the expression is compiled once and not paid for", () => {
  const rule = "items.all(i, 'abc'.matches('[a-z]{500}') == false)";
  expect(evaluate(rule, { items }, 10_000)).toEqual({ ok: true, value: true });
  const computed = "items.all(i, 'abc'.matches(text) == false)";
  expect(evaluate(computed, { items, text: "[a-z]{500}" }, 10_000)).toEqual(tooExpensive(10_000));
});

test("the limit can be set, and one evaluation does not spend for the next", () => {
  const source = "items.all(i, i >= 0)";
  const program = compileExpression(source, environment);
  if (!program.ok) throw new Error(program.error.message);
  expect(program.value.evaluate({ items }, { costLimit: 500 })).toEqual(tooExpensive(500));
  for (let round = 0; round < 3; round += 1) {
    expect(program.value.evaluate({ items }, { costLimit: 2_000 })).toEqual({ ok: true, value: true });
  }
});

test("the size of a large value costs nothing", () => {
  expect(evaluate("items.size() + size(items)", { items }, 20)).toEqual({ ok: true, value: 400 });
});

test.each([
  ["parentheses", `${"(".repeat(5_000)}1${")".repeat(5_000)}`],
  ["a long sum", Array.from({ length: 5_000 }, () => "1").join("+")],
  ["a long chain of members", `self${".a".repeat(5_000)}`],
  ["negations", `${"!".repeat(10_000)}true`],
  ["lists", `${"[".repeat(5_000)}${"]".repeat(5_000)}`],
  ["conditions", `${"true ? 1 : ".repeat(1_500)}1`],
  ["a long text", `"${"x".repeat(30_000)}"`],
])("too much of %s does not compile, and overflows nothing", (_, source) => {
  expect(compileExpression(source, environment)).toMatchObject({ ok: false, error: { kind: "syntax" } });
});

test("the longest chain of operators that compiles also runs", () => {
  const source = Array.from({ length: 1_400 }, () => "1").join("+");
  expect(evaluate(source, {})).toEqual({ ok: true, value: 1_400 });
});
