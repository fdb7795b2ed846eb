import { parse } from "@marcbachmann/cel-js";
import { expect, test } from "vitest";
import { allNodes, findUses } from "./syntax.ts";

const usesOf = (source: string): readonly string[] =>
  findUses(parse(source).ast).variables.map(({ root, path, offset }) => `${[root, ...path].join(".")}@${offset}`);

test.each<readonly [string, readonly string[]]>([
  ["1 + 2", []],
  ["a", ["a@0"]],
  ["a.b.c", ["a.b.c@0"]],
  ["a['b'].c", ["a.b.c@0"]],
  ["a[0].b", ["a@0"]],
  ["a[i].b[j.k]", ["a@0", "i@2", "j.k@7"]],
  ["a.b.size() + size(c)", ["a.b@0", "c@18"]],
  ["f(a).b", ["a@2"]],
  ["(a + b).c", ["a@1", "b@5"]],
  ["has(a.b.c)", ["a.b.c@4"]],
  ["a ? b : c", ["a@0", "b@4", "c@8"]],
  ["!a || -b > c", ["a@1", "b@7", "c@11"]],
  ["[a, {'k': b, c: d}]", ["a@1", "b@10", "c@13", "d@16"]],
  ["a.all(x, x.b && y)", ["a@0", "y@16"]],
  ["x.all(x, x)", ["x@0"]],
  ["a.map(x, b.filter(y, y == x && z))", ["a@0", "b@9", "z@31"]],
  ["a.map(x, x > 1, x + b)", ["a@0", "b@20"]],
  ["a.exists(x, x) && x", ["a@0", "x@18"]],
  ["cel.bind(v, a + v, v + b)", ["a@12", "v@16", "b@23"]],
  ["a.bind(v, b, c)", ["a@0", "v@7", "b@10", "c@13"]],
  ["optional.of(a).orValue(b) + optional.none()", ["a@12", "b@23"]],
  ["ip.isCanonical(a) && ip('::1') == b", ["a@15", "b@34"]],
  ["ip.address + optional", ["ip.address@0", "optional@13"]],
  ["a.all(ip, ip.matches(b))", ["a@0", "b@21"]],
])("%s uses %j", (source, uses) => {
  expect(usesOf(source)).toEqual(uses);
});

test("functions and methods are named once, in order", () => {
  expect(findUses(parse("f(a.g()) + f(1) + has(a.b) + a.all(x, h(x))").ast).functions).toEqual([
    "f",
    "g",
    "has",
    "all",
    "h",
  ]);
});

test("all nodes are visited, parents first and from left to right", () => {
  const nodes = allNodes(parse("a + f(b, [1])").ast).map((node) => (node.op === "id" ? node.args : node.op));
  expect(nodes).toEqual(["+", "a", "call", "b", "list", "value"]);
});
