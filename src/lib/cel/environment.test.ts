import { describe, expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { type CelEnvironment, type CelFunction, compileExpression, compileTemplate } from "./index.ts";

const evaluate = (source: string, environment: CelEnvironment, bindings: Record<string, JsonValue> = {}) => {
  const program = compileExpression(source, environment);
  return program.ok ? program.value.evaluate(bindings) : { ok: false, error: program.error.message };
};

describe("functions of the caller", () => {
  const given: JsonValue[] = [];
  const functions: readonly CelFunction[] = [
    {
      signature: "keep(dyn): dyn",
      call: ([value]) => {
        given.push(value ?? null);
        return value ?? null;
      },
    },
    {
      signature: "string.twice(int): string",
      call: ([text, count]) => (typeof text === "string" ? text.repeat(Number(count)) : null),
    },
    { signature: "name(): string", call: (_, { self }) => self ?? null },
  ];
  const environment: CelEnvironment = { variables: { self: "dyn" }, functions };

  test("see JSON, and what they return is a CEL value again", () => {
    expect(evaluate("keep([1, 2.5, 'x', null, {'a': 1u}]) == [1, 2.5, 'x', null, {'a': 1}]", environment)).toEqual({
      ok: true,
      value: true,
    });
    expect(given.at(-1)).toEqual([1, 2.5, "x", null, { a: 1 }]);
    expect(evaluate("keep(duration('1m'))", environment)).toEqual({ ok: true, value: "60s" });
    expect(evaluate("type(keep(2)) == int && type(keep(2.5)) == double", environment)).toEqual({
      ok: true,
      value: true,
    });
  });

  test("may be methods, and see the bindings of the evaluation they are called in", () => {
    expect(evaluate("'ab'.twice(2) + name()", environment, { self: "me" })).toEqual({ ok: true, value: "ababme" });
    expect(evaluate("name()", environment, { self: "you" })).toEqual({ ok: true, value: "you" });
  });

  test("are checked against their signatures", () => {
    expect(evaluate("'ab'.twice('2')", environment)).toMatchObject({ ok: false });
    expect(evaluate("keep()", environment)).toEqual({
      ok: false,
      error: "found no matching overload for 'keep()'",
    });
  });

  test("belong to their environment alone", () => {
    expect(evaluate("keep(1)", { variables: {} })).toEqual({ ok: false, error: 'there is no function "keep"' });
  });
});

test.each<readonly [string, CelEnvironment]>([
  ["a type that does not exist", { variables: { a: "strnig<" } }],
  ["a signature without a result", { variables: {}, functions: [{ signature: "f(int)", call: () => 1 }] }],
  [
    "a function given twice",
    { variables: {}, functions: Array.from({ length: 2 }, () => ({ signature: "f(): int", call: () => 1 })) },
  ],
])("an environment with %s is the mistake of the caller, and thrown", (_, environment) => {
  expect(() => compileExpression("1", environment)).toThrow();
});

test("environments of the same variables do not share what they know", () => {
  const first: CelEnvironment = { variables: { a: "int" } };
  const second: CelEnvironment = { variables: { a: "string" } };
  expect(evaluate("a + 1", first, { a: 1 })).toEqual({ ok: true, value: 2 });
  expect(evaluate("a + 1", second, { a: "x" })).toMatchObject({ ok: false, error: "no such overload: string + int" });
});

test("a text that was compiled before is the same program, in its environment only", () => {
  const environment: CelEnvironment = { variables: { self: "dyn" } };
  const program = (source: string, of = environment) => {
    const compiled = compileExpression(source, of);
    return compiled.ok ? compiled.value : compiled.error;
  };
  const first = program("self + 1");
  expect(program("self + 1")).toBe(first);
  expect(program("self + 1", { variables: { self: "int" } })).not.toBe(first);
  expect(program("self + 1", { variables: {} })).toMatchObject({ kind: "unknown-variable" });
  for (let other = 0; other < 1000; other++) program(`self + ${other} + 1`);
  expect(evaluate("self + 1", environment, { self: 1 })).toEqual({ ok: true, value: 2 });
});

test("an evaluation that fails leaves nothing behind for the next one", () => {
  const environment: CelEnvironment = { variables: { items: "list" } };
  const program = compileExpression("items.map(x, 1 / x).size()", environment);
  if (!program.ok) throw new Error(program.error.message);
  expect(program.value.evaluate({ items: [0] })).toMatchObject({ ok: false });
  expect(program.value.evaluate({ items: [1, 2] }, { costLimit: 5 })).toMatchObject({ ok: false });
  expect(program.value.evaluate({ items: [1, 2] })).toEqual({ ok: true, value: 2 });
});

test("bindings that nobody asked for are not looked at", () => {
  const trap = {
    get other(): JsonValue {
      throw new Error("looked at");
    },
    self: 1,
  };
  expect(evaluate("self + 1", { variables: { self: "dyn", other: "dyn" } }, trap)).toEqual({ ok: true, value: 2 });
});

test("a document with a thousand wrong expressions names them all, with their places", () => {
  const document = Array.from({ length: 1_000 }, (_, n) => ({ name: `x\${{ nope${n} }}` }));
  const template = compileTemplate(document, { variables: {} });
  expect(template.ok).toBe(false);
  if (template.ok) return;
  expect(template.error).toHaveLength(1_000);
  expect(template.error[999]).toEqual({
    path: [999, "name"],
    kind: "unknown-variable",
    message: 'there is no variable "nope999"',
    line: 1,
    column: 6,
  });
});
