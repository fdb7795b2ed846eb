import { describe, expect, test } from "vitest";
import { ApiError } from "#kernel/model/index.ts";
import { parseLabelSelector } from "./label-selector.ts";

const selects = (text: string, labels: Record<string, string>) => parseLabelSelector(text, 4096)?.(labels) ?? true;

describe("label selectors", () => {
  test.each<[string, Record<string, string>, boolean]>([
    ["", {}, true],
    ["  ", {}, true],
    ["a=b", { a: "b" }, true],
    ["a==b", { a: "b" }, true],
    [" a = b ", { a: "b" }, true],
    ["a=b", { a: "c" }, false],
    ["a=", { a: "" }, true],
    ["a=", {}, false],
    ["a!=b", { a: "c" }, true],
    ["a!=b", {}, true],
    ["a!=b", { a: "b" }, false],
    ["a", { a: "x" }, true],
    ["a", {}, false],
    ["!a", {}, true],
    ["!a", { a: "" }, false],
    ["a in (x,y)", { a: "y" }, true],
    ["a in (x, y)", { a: "z" }, false],
    ["a in (,x)", { a: "" }, true],
    ["a in (x)", {}, false],
    ["a notin (x,y)", {}, true],
    ["a notin (x,y)", { a: "x" }, false],
    ["a=b,c!=d,!e,f", { a: "b", c: "x", f: "" }, true],
    ["a=b,c!=d,!e,f", { a: "b", c: "x" }, false],
    ["n>5", { n: "6" }, true],
    ["n>5", { n: "5" }, false],
    ["n<5", { n: "-6" }, true],
    ["n<5", { n: "many" }, false],
    ["n>9007199254740993", { n: "9007199254740994" }, true],
    ["example.com/in=in", { "example.com/in": "in" }, true],
    ["in=notin", { in: "notin" }, true],
    ["constructor", {}, false],
  ])("%j on %j is %s", (text, labels, expected) => {
    expect(selects(text, labels)).toBe(expected);
  });

  test.each([
    "a in (",
    "a in ()x",
    "a in x",
    "a=b=c",
    ",",
    "a,,b",
    "=b",
    "!",
    "a b",
    "a in (x",
    "n>x",
    "a=b!",
    "(a)",
    "A B=c",
    "/a=b",
    "a=b c",
  ])("%j cannot be read", (text) => {
    expect(() => parseLabelSelector(text, 4096)).toThrow(ApiError);
  });

  test("a long one is refused before it is read", () => {
    expect(() => parseLabelSelector("a".repeat(20), 10)).toThrow(/longer than 10/);
  });
});
