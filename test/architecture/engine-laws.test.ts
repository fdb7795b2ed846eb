import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { root, trackedFiles } from "./sources.ts";

// A law that no test names is a wish, and a number that no law has leads nowhere.

const read = (path: string): string => readFileSync(`${root}${path}`, "utf8");

/** Numbers of the numbered sentences of a page. */
const lawsOf = (page: string): number[] => [...page.matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number));

/** Numbers in parentheses at the beginning of the names of tests: `test("(30) (31) whatever fails"`. */
const namedBy = (source: string): number[] =>
  [...source.matchAll(/\btest\("((?:\(\d+\) )+)/g)].flatMap(([, numbers = ""]) =>
    [...numbers.matchAll(/\d+/g)].map(([number]) => Number(number)),
  );

test("every law of the engine has a test that carries its number, and every number is that of a law", () => {
  const laws = lawsOf(read("docs/reference/engine-laws.md"));
  expect(laws).toEqual(Array.from({ length: 34 }, (_, at) => at + 1));
  const tests = trackedFiles("src").filter((path) => /^src\/(?:engine|dialects)\/.*\.test\.ts$/.test(path));
  const named = new Set(tests.flatMap((path) => namedBy(read(path))));
  expect(laws.filter((law) => !named.has(law))).toEqual([]);
  expect([...named].filter((number) => !laws.includes(number))).toEqual([]);
});

test("numbers are found where they stand, and nowhere else", () => {
  expect(namedBy('test("(1) a", f);\ntest("(2) (30) b (7)", f);\ntest("c (4)", f);\nexpect("(5) d");')).toEqual([
    1, 2, 30,
  ]);
  expect(lawsOf("# Laws\n\n1. One.\n2. Two,\n   3. not three\n")).toEqual([1, 2]);
});
