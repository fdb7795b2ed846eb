import { describe, expect, test } from "vitest";
import { type Cursor, type ParsedPath, parsePath, parseQuoted, type PathStep } from "./json-path.ts";

function stepsOf(source: string): readonly PathStep[] {
  const parsed = parsePath({ source, at: 0 });
  if (!parsed.ok) throw new Error(`${parsed.error.message} at ${parsed.error.column}`);
  return parsed.value.steps;
}

const member = (name: string): PathStep => ({ kind: "member", name });
const quoted = (name: string, ...parts: string[]): PathStep => ({ kind: "quoted", name, parts });
const current = (...steps: PathStep[]): ParsedPath => ({ fromRoot: false, steps });

describe("steps", () => {
  test.each<readonly [string, readonly PathStep[]]>([
    ["", []],
    [".", []],
    ["$", []],
    ["@", []],
    [".a", [member("a")]],
    ["$.a.b", [member("a"), member("b")]],
    [".a-b_c/d~e%f;g", [member("a-b_c/d~e%f;g")]],
    [".ä😀", [member("ä😀")]],
    [".app\\.kubernetes\\.io/name", [member("app.kubernetes.io/name")]],
    [".a\\ b\\[\\\\", [member("a b[\\")]],
    [".*", [{ kind: "wildcard" }]],
    ["..a", [{ kind: "descend" }, member("a")]],
    ["..*", [{ kind: "descend" }, { kind: "wildcard" }]],
    ["..[0]", [{ kind: "descend" }, { kind: "index", index: 0 }]],
    [".[0]", [{ kind: "index", index: 0 }]],
    ["[0]", [{ kind: "index", index: 0 }]],
    ["[-1]", [{ kind: "index", index: -1 }]],
    ["[ 7 ]", [{ kind: "index", index: 7 }]],
    ["[*]", [{ kind: "wildcard" }]],
    ["['a']", [quoted("a", "a")]],
    ['["a"]', [quoted("a", "a")]],
    ["['a.b.c']", [quoted("a.b.c", "a", "b", "c")]],
    ["['a\\.b.c']", [quoted("a.b.c", "a.b", "c")]],
    ["['it\\'s']", [quoted("it's", "it's")]],
    ["['']", [quoted("", "")]],
    ["[1:]", [{ kind: "slice", stride: 1, start: 1 }]],
    ["[:2]", [{ kind: "slice", stride: 1, end: 2 }]],
    ["[:]", [{ kind: "slice", stride: 1 }]],
    ["[-3:-1:2]", [{ kind: "slice", stride: 2, start: -3, end: -1 }]],
    ["[::3]", [{ kind: "slice", stride: 3 }]],
    [
      "[0, 'a' ,*]",
      [{ kind: "union", choices: [{ kind: "index", index: 0 }, quoted("a", "a"), { kind: "wildcard" }] }],
    ],
  ])("of %j", (source, steps) => {
    expect(stepsOf(source)).toEqual(steps);
  });

  test("a dollar starts at the document, everything else at the current value", () => {
    const fromRoot = (source: string) => parsePath({ source, at: 0 });
    expect(fromRoot("$.a")).toMatchObject({ ok: true, value: { fromRoot: true } });
    expect(fromRoot("@.a")).toMatchObject({ ok: true, value: { fromRoot: false } });
    expect(fromRoot(".a")).toMatchObject({ ok: true, value: { fromRoot: false } });
  });

  test.each([
    [".a}", 2],
    [".a b", 2],
    [".a)", 2],
    ["$ .a", 1],
    [".a==1", 2],
    [".a,.b", 2],
    [".a'x'", 2],
  ])("the path %j ends in front of what cannot be part of it", (source, end) => {
    const cursor: Cursor = { source, at: 0 };
    expect(parsePath(cursor).ok).toBe(true);
    expect(cursor.at).toBe(end);
  });
});

describe("filters", () => {
  const filterOf = (source: string) => stepsOf(`[?(${source})]`)[0];
  const literal = (value: string | number | boolean | null) => ({ kind: "literal", value });
  const path = (...steps: PathStep[]) => ({ kind: "path", path: current(...steps) });

  test.each([
    ["@.a == 'x'", path(member("a")), "==", literal("x")],
    ['@.a!="it\'s"', path(member("a")), "!=", literal("it's")],
    ["@.a<1", path(member("a")), "<", literal(1)],
    ["@.a <= -2.5e-1", path(member("a")), "<=", literal(-0.25)],
    ["@.a>true", path(member("a")), ">", literal(true)],
    ["  @.a  >=  false  ", path(member("a")), ">=", literal(false)],
    ["@ == null", path(), "==", literal(null)],
    ["1 == @.a", literal(1), "==", path(member("a"))],
    [".a == .b", path(member("a")), "==", path(member("b"))],
    ["'a\\n\\t\\\\\\'\\\"\\x' == ''", literal("a\n\t\\'\"\\x"), "==", literal("")],
  ])("%s", (source, left, operator, right) => {
    expect(filterOf(source)).toEqual({ kind: "filter", filter: { kind: "compare", left, operator, right } });
  });

  test("a path alone asks whether it selects anything, and filters nest", () => {
    const inner: PathStep = { kind: "filter", filter: { kind: "exists", path: current(member("b")) } };
    expect(filterOf("@.a[?(@.b)]")).toEqual({
      kind: "filter",
      filter: { kind: "exists", path: current(member("a"), inner) },
    });
  });
});

test.each<readonly [string, string, number]>([
  ["..", "expected a member name, found the end", 3],
  ["...a", 'expected a member name, found "."', 3],
  [".a\\", 'expected "." or "[" or the end, found "\\\\"', 3],
  ["[", "expected an index, a quoted name, * or ?(…), found the end", 2],
  ["[]", 'expected an index, a quoted name, * or ?(…), found "]"', 2],
  ["[a]", 'expected an index, a quoted name, * or ?(…), found "a"', 2],
  ["[+1]", 'expected an index, a quoted name, * or ?(…), found "+"', 2],
  ["[1.5]", 'expected "," or "]", found "."', 3],
  ["[0", 'expected "," or "]", found the end', 3],
  ["[0,]", 'expected an index, a quoted name, * or ?(…), found "]"', 4],
  ["[1234567890]", 'expected "," or "]", found "0"', 11],
  ["[::0]", "the step of a slice must be positive", 2],
  ["[::-1]", 'expected "," or "]", found "-"', 4],
  ["['a", "the quote ' is not closed", 2],
  ['["a]', 'the quote " is not closed', 2],
  ["[?@.a]", 'expected "(" behind "?", found "@"', 3],
  ["[?(]", 'expected a path, a quoted text, a number, true, false or null, found "]"', 4],
  ["[?(1)]", 'expected a comparison, found ")"', 5],
  ["[?('a')]", 'expected a comparison, found ")"', 7],
  ["[?(@.a=1)]", 'expected a comparison or ")", found "="', 7],
  ["[?(@.a == )]", 'expected a path, a quoted text, a number, true, false or null, found ")"', 11],
  ["[?(@.a == b)]", 'expected a path, a quoted text, a number, true, false or null, found "b"', 11],
  ["[?(@.a == truer)]", 'expected a comparison or ")", found "r"', 15],
  ["[?(@.a && @.b)]", 'expected a comparison or ")", found "&"', 8],
  ["[?(@.a]", 'expected a comparison or ")", found "]"', 7],
])("%j is no path", (source, message, column) => {
  const cursor: Cursor = { source, at: 0 };
  const parsed = parsePath(cursor);
  if (parsed.ok) expect(cursor.at, "the path ends before the error").toBe(column - 1);
  else expect(parsed.error).toEqual({ message, column });
});

test("a quoted text keeps the cursor behind its closing quote, or where it began", () => {
  const closed: Cursor = { source: "x'a'y", at: 1 };
  expect(parseQuoted(closed)).toEqual({ ok: true, value: "a" });
  expect(closed.at).toBe(4);
  const open: Cursor = { source: "'a\\'", at: 0 };
  expect(parseQuoted(open)).toMatchObject({ ok: false, error: { column: 1 } });
});
