import { describe, expect, test } from "vitest";
import { resolvePlain } from "../definition/scalar.ts";
import { createSubstituter, isFailure } from "./substitute.ts";
import { resolveVariables } from "./variable.ts";

const substituter = createSubstituter(
  resolveVariables(
    Object.entries({
      name: "value",
      flag: "true",
      hex: "0x10",
      none: "~",
      nested: "<${name}>",
      through: "${flag}",
      hidden: "${%name%}",
      a: "${b}",
      b: "${a}",
      self: "x${self}",
      "odd name": "odd",
      empty: "''",
    }).map(([name, text]) => ({
      name,
      ...(text === "''" ? { ...resolvePlain("x"), text: "", value: "" } : resolvePlain(text)),
      source: "variable files",
    })),
  ),
);

function become(text: string) {
  const result = substituter.substitute(text);
  return isFailure(result) ? result : result.scalar;
}

describe("forms", () => {
  test.each([
    ["no variable", "no variable"],
    ["${name}", "value"],
    ["${ name\t}", "value"],
    ["a${name}b${name}", "avaluebvalue"],
    ["${odd name}", "odd"],
    ["${nobody} ${HOME}", "${nobody} ${HOME}"],
    ["${}", "${}"],
    ["${ }", "${ }"],
    ["$name $(name) $${name}", "$name $(name) $value"],
    ["${name", "${name"],
    ["${%name%}", "${name}"],
    ["${%%}", "${}"],
    ["${%}", "${}"],
    ["${%name}", "${%name}"],
    ["${ %name%}", "${ %name%}"],
    ["${name%}", "${name%}"],
    ["${nested}", "<value>"],
    ["${hidden}", "${name}"],
    ["-${none}-${empty}-", "---"],
    ["-${hex}-${flag}", "-0x10-true"],
  ])("%s becomes %s", (text, expected) => {
    expect(become(text)).toMatchObject({ tag: "string", text: expected });
  });
});

test("a text that is nothing but a variable takes its type, also through others; null is an empty text", () => {
  expect(become("${flag}")).toMatchObject({ tag: "boolean", value: true });
  expect(become("${ through }")).toMatchObject({ tag: "boolean", value: true });
  expect(become("${hex}")).toMatchObject({ tag: "integer", value: 16, text: "0x10" });
  expect(become("${none}")).toMatchObject({ tag: "string", value: "" });
  expect(become(" ${flag}")).toMatchObject({ tag: "string", value: " true" });
});

test("a loop is told by its whole way, from wherever it is met, every time", () => {
  const message = (way: string) => ({ code: "var-loop", message: `the variable contains itself: ${way}` });
  expect(become("${a}")).toEqual(message("a -> b -> a"));
  expect(become("x ${b}")).toEqual(message("b -> a -> b"));
  expect(become("${self}")).toEqual(message("self -> self"));
  expect(become("${a}")).toEqual(message("a -> b -> a"));
});

test("what is used and what nobody has is told once each", () => {
  const result = substituter.substitute("${nested} ${name} ${x} ${x}");
  if (isFailure(result)) throw new Error(result.message);
  expect([...result.used].map(({ name }) => name)).toEqual(["nested", "name"]);
  expect([...result.unknown]).toEqual(["x"]);
});

test("variables that double each other, and chains without end, are stopped", () => {
  const text = (name: string, value: string) => ({ name, ...resolvePlain(value), source: "variable files" }) as const;
  const doubling = Array.from({ length: 40 }, (_, n) => text(`v${n}`, n === 0 ? "xx" : `\${v${n - 1}}\${v${n - 1}}`));
  expect(createSubstituter(resolveVariables(doubling)).substitute("${v39}")).toMatchObject({ code: "too-large" });
  const chain = Array.from({ length: 5_000 }, (_, n) => text(`c${n}`, `-\${c${n + 1}}`));
  expect(createSubstituter(resolveVariables(chain)).substitute("${c0}")).toMatchObject({ code: "var-loop" });
  const many = createSubstituter(resolveVariables([text("big", "x".repeat(1024))]));
  expect(many.substitute("${big} ".repeat(2_000))).toMatchObject({ code: "too-large" });
});
