import { expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { applyJsonPatch, jsonPatchParts } from "./index.ts";

interface Example {
  readonly name: string;
  readonly document: JsonValue;
  readonly patch: JsonValue;
  readonly result: JsonValue;
}

// The examples of RFC 6902, appendix A, that succeed.
const examples: readonly Example[] = [
  {
    name: "A.1 adding an object member",
    document: { foo: "bar" },
    patch: [{ op: "add", path: "/baz", value: "qux" }],
    result: { baz: "qux", foo: "bar" },
  },
  {
    name: "A.2 adding an array element",
    document: { foo: ["bar", "baz"] },
    patch: [{ op: "add", path: "/foo/1", value: "qux" }],
    result: { foo: ["bar", "qux", "baz"] },
  },
  {
    name: "A.3 removing an object member",
    document: { baz: "qux", foo: "bar" },
    patch: [{ op: "remove", path: "/baz" }],
    result: { foo: "bar" },
  },
  {
    name: "A.4 removing an array element",
    document: { foo: ["bar", "qux", "baz"] },
    patch: [{ op: "remove", path: "/foo/1" }],
    result: { foo: ["bar", "baz"] },
  },
  {
    name: "A.5 replacing a value",
    document: { baz: "qux", foo: "bar" },
    patch: [{ op: "replace", path: "/baz", value: "boo" }],
    result: { baz: "boo", foo: "bar" },
  },
  {
    name: "A.6 moving a value",
    document: { foo: { bar: "baz", waldo: "fred" }, qux: { corge: "grault" } },
    patch: [{ op: "move", from: "/foo/waldo", path: "/qux/thud" }],
    result: { foo: { bar: "baz" }, qux: { corge: "grault", thud: "fred" } },
  },
  {
    name: "A.7 moving an array element",
    document: { foo: ["all", "grass", "cows", "eat"] },
    patch: [{ op: "move", from: "/foo/1", path: "/foo/3" }],
    result: { foo: ["all", "cows", "eat", "grass"] },
  },
  {
    name: "A.8 testing a value with success",
    document: { baz: "qux", foo: ["a", 2, "c"] },
    patch: [
      { op: "test", path: "/baz", value: "qux" },
      { op: "test", path: "/foo/1", value: 2 },
    ],
    result: { baz: "qux", foo: ["a", 2, "c"] },
  },
  {
    name: "A.10 adding a nested member object",
    document: { foo: "bar" },
    patch: [{ op: "add", path: "/child", value: { grandchild: {} } }],
    result: { foo: "bar", child: { grandchild: {} } },
  },
  {
    name: "A.11 ignoring unrecognized elements",
    document: { foo: "bar" },
    patch: [{ op: "add", path: "/baz", value: "qux", xyz: 123 }],
    result: { foo: "bar", baz: "qux" },
  },
  {
    name: "A.14 escape ordering",
    document: { "/": 9, "~1": 10 },
    patch: [{ op: "test", path: "/~01", value: 10 }],
    result: { "/": 9, "~1": 10 },
  },
  {
    name: "A.16 adding an array value",
    document: { foo: ["bar"] },
    patch: [{ op: "add", path: "/foo/-", value: ["abc", "def"] }],
    result: { foo: ["bar", ["abc", "def"]] },
  },
];

test.each(examples)("RFC 6902 $name", ({ document, patch, result }) => {
  expect(applyJsonPatch(document, patch)).toEqual({ ok: true, value: result });
});

test.each<readonly [string, JsonValue, JsonValue, JsonValue]>([
  ["replaces the whole document", { a: 1 }, [{ op: "replace", path: "", value: [1] }], [1]],
  ["adds over the whole document", { a: 1 }, [{ op: "add", path: "", value: null }], null],
  ["adds at the end of an array by its length", [1], [{ op: "add", path: "/1", value: 2 }], [1, 2]],
  ["overwrites an existing member with add", { a: 1 }, [{ op: "add", path: "/a", value: 2 }], { a: 2 }],
  ["keeps null apart from nothing", { a: null }, [{ op: "test", path: "/a", value: null }], { a: null }],
  [
    "compares objects without their order",
    { a: { x: 1, y: 2 } },
    [{ op: "test", path: "/a", value: { y: 2, x: 1 } }],
    { a: { x: 1, y: 2 } },
  ],
  ["uses the empty key", { "": 1 }, [{ op: "replace", path: "/", value: 2 }], { "": 2 }],
  ["moves a value onto itself", { a: 1 }, [{ op: "move", from: "/a", path: "/a" }], { a: 1 }],
  ["moves a child up to its parent", { a: { b: 1 } }, [{ op: "move", from: "/a/b", path: "/a" }], { a: 1 }],
  [
    "copies a value into its own child",
    { a: { b: 1 } },
    [{ op: "copy", from: "/a", path: "/a/c" }],
    { a: { b: 1, c: { b: 1 } } },
  ],
  ["takes 01 as the name of a member", { "01": 1 }, [{ op: "remove", path: "/01" }], {}],
])("a patch %s", (_, document, patch, result) => {
  expect(applyJsonPatch(document, patch)).toEqual({ ok: true, value: result });
});

test("a copy is independent of its source", () => {
  const patch = [
    { op: "add", path: "/a/x", value: 1 },
    { op: "copy", from: "/a", path: "/b" },
    { op: "add", path: "/a/y", value: 2 },
    { op: "add", path: "/b/z", value: 3 },
  ];
  expect(applyJsonPatch({ a: {} }, patch)).toEqual({ ok: true, value: { a: { x: 1, y: 2 }, b: { x: 1, z: 3 } } });
});

test("a value used by two operations is not shared between them", () => {
  const shared = { list: [1] };
  const patch = [
    { op: "add", path: "/a", value: shared },
    { op: "add", path: "/b", value: shared },
    { op: "add", path: "/a/list/-", value: 2 },
  ];
  expect(applyJsonPatch({}, patch)).toEqual({ ok: true, value: { a: { list: [1, 2] }, b: { list: [1] } } });
  expect(shared).toEqual({ list: [1] });
});

test.each<readonly [string, JsonValue, JsonValue, string, string]>([
  [
    "a failed test",
    { a: 1 },
    [{ op: "test", path: "/a", value: 2 }],
    "test",
    'operation 0 at "/a": the test failed: the value is another one',
  ],
  [
    "a test of nothing",
    {},
    [{ op: "test", path: "/a", value: null }],
    "test",
    'operation 0 at "/a": the test failed: there is no such value',
  ],
  [
    "a number tested as text",
    { "~1": 10 },
    [{ op: "test", path: "/~01", value: "10" }],
    "test",
    'operation 0 at "/~01": the test failed: the value is another one',
  ],
  [
    "a missing parent",
    {},
    [{ op: "add", path: "/a/b", value: 1 }],
    "path",
    'operation 0 at "/a/b": "/a": there is no such value',
  ],
  [
    "a parent that is a text",
    { a: "x" },
    [{ op: "add", path: "/a/b", value: 1 }],
    "path",
    'operation 0 at "/a/b": "/a" is not an object or an array',
  ],
  ["the index 01", [1, 2], [{ op: "remove", path: "/01" }], "path", 'operation 0 at "/01": "01" is not an array index'],
  [
    "the index -1",
    [1],
    [{ op: "replace", path: "/-1", value: 0 }],
    "path",
    'operation 0 at "/-1": "-1" is not an array index',
  ],
  [
    "the index 1e0",
    [1, 2],
    [{ op: "replace", path: "/1e0", value: 0 }],
    "path",
    'operation 0 at "/1e0": "1e0" is not an array index',
  ],
  [
    "an index beyond the end",
    [1],
    [{ op: "add", path: "/2", value: 0 }],
    "path",
    'operation 0 at "/2": index 2 is beyond the end of an array of 1',
  ],
  ["- in remove", [1], [{ op: "remove", path: "/-" }], "path", 'operation 0 at "/-": "-" names no existing item'],
  [
    "- in replace",
    [1],
    [{ op: "replace", path: "/-", value: 1 }],
    "path",
    'operation 0 at "/-": "-" names no existing item',
  ],
  [
    "the replacement of nothing",
    {},
    [{ op: "replace", path: "/a", value: 1 }],
    "path",
    'operation 0 at "/a": there is no such value',
  ],
  [
    "removing the document",
    {},
    [{ op: "remove", path: "" }],
    "path",
    'operation 0 at "": the whole document cannot be removed',
  ],
  [
    "a path without a slash",
    {},
    [{ op: "add", path: "a", value: 1 }],
    "invalid",
    'operation 0 at "a": expected a JSON pointer that begins with "/", found "a"',
  ],
  [
    "a bad escape",
    {},
    [{ op: "add", path: "/~2", value: 1 }],
    "invalid",
    'operation 0 at "/~2": "~" must be followed by 0 or 1 in the JSON pointer "/~2"',
  ],
  ["a missing path", {}, [{ op: "add", value: 1 }], "invalid", 'operation 0: "path" must be a JSON pointer'],
  ["a missing value", {}, [{ op: "add", path: "/a" }], "invalid", 'operation 0 at "/a": "value" is missing'],
  ["a missing from", {}, [{ op: "copy", path: "/a" }], "invalid", 'operation 0 at "/a": "from" must be a JSON pointer'],
  [
    "a from that does not exist",
    {},
    [{ op: "copy", from: "/b", path: "/a" }],
    "path",
    'operation 0 at "/a": "from" "/b" does not exist',
  ],
  [
    "a move into its own child",
    { a: { b: {} } },
    [{ op: "move", from: "/a", path: "/a/b/c" }],
    "path",
    'operation 0 at "/a/b/c": "/a" cannot move into its own child',
  ],
  [
    "an unknown operation",
    {},
    [{ op: "spam", path: "/a" }],
    "invalid",
    'operation 0 at "/a": "op" must be add, remove, replace, move, copy or test, found "spam"',
  ],
  ["an operation that is no object", {}, ["add"], "invalid", "operation 0: an operation must be an object"],
  ["a patch that is no array", {}, { op: "add" }, "invalid", "a JSON patch must be an array of operations"],
])("%s is refused", (_, document, patch, kind, message) => {
  const result = applyJsonPatch(document, patch);
  expect(result).toMatchObject({ ok: false, error: { kind, message } });
});

test("one failed operation refuses the whole patch and names itself", () => {
  const document = { a: { b: [1] } };
  const result = applyJsonPatch(document, [
    { op: "add", path: "/a/b/-", value: 2 },
    { op: "remove", path: "/a/c" },
  ]);
  expect(result).toMatchObject({ ok: false, error: { operation: 1, path: "/a/c" } });
  expect(document).toEqual({ a: { b: [1] } });
});

test("branches that are not touched are shared with the document", () => {
  const document = { a: { big: [1, 2, 3] }, b: 1 };
  const result = applyJsonPatch(document, [{ op: "replace", path: "/b", value: 2 }]);
  expect(result.ok && (result.value as typeof document).a).toBe(document.a);
});

test("keys that name inherited members are ordinary keys", () => {
  const patch = [
    { op: "add", path: "/__proto__", value: { polluted: true } },
    { op: "add", path: "/constructor", value: {} },
    { op: "add", path: "/constructor/prototype", value: 1 },
    { op: "add", path: "/__proto__/deep", value: 2 },
  ];
  const result = applyJsonPatch({}, patch);
  const text = '{"__proto__":{"polluted":true,"deep":2},"constructor":{"prototype":1}}';
  expect(result.ok && JSON.stringify(result.value)).toBe(text);
  expect("polluted" in {}).toBe(false);
});

test.each(["/toString", "/__proto__", "/constructor/prototype"])("the inherited %s does not exist", (path) => {
  expect(applyJsonPatch({}, [{ op: "remove", path }])).toMatchObject({ ok: false, error: { kind: "path" } });
});

test("10,001 operations are refused", () => {
  const patch = Array.from({ length: 10_001 }, () => ({ op: "test", path: "", value: {} }));
  expect(applyJsonPatch({}, patch)).toMatchObject({ ok: false, error: { kind: "limit" } });
  expect(applyJsonPatch({}, patch.slice(1)).ok).toBe(true);
});

test("a patch that doubles its document again and again is stopped", () => {
  const doubling = Array.from({ length: 60 }, (_, round) => ({ op: "copy", from: "", path: `/x${round}` }));
  expect(applyJsonPatch({ a: [1, 2, 3] }, doubling)).toMatchObject({ ok: false, error: { kind: "limit" } });
});

test("a patch cannot nest deeper than a document may be", () => {
  const nesting = Array.from({ length: 300 }, (_, depth) => ({ op: "add", path: "/a".repeat(depth + 1), value: {} }));
  expect(applyJsonPatch({}, nesting)).toMatchObject({ ok: false, error: { kind: "limit" } });
  const moving = Array.from({ length: 300 }, () => [
    { op: "add", path: "/b", value: {} },
    { op: "move", from: "/a", path: "/b/a" },
    { op: "move", from: "/b", path: "/a" },
  ]);
  expect(applyJsonPatch({ a: 1 }, moving.flat())).toMatchObject({ ok: false, error: { kind: "limit" } });
});

test("the steps to all values of a patch are bounded together", () => {
  const path = `${"/a".repeat(99)}/x`;
  let document: JsonValue = { x: 0 };
  for (let depth = 1; depth < 100; depth += 1) document = { a: document };
  const replacements = Array.from({ length: 2501 }, (_, value) => ({ op: "replace", path, value }));
  expect(applyJsonPatch(document, replacements.slice(1)).ok).toBe(true);
  expect(applyJsonPatch(document, replacements)).toMatchObject({
    error: { kind: "limit", operation: 2500, message: expect.stringMatching(/the paths of the patch are too long/) },
  });
  const copies = Array.from({ length: 1251 }, () => ({ op: "copy", from: path, path }));
  expect(applyJsonPatch(document, copies)).toMatchObject({ error: { kind: "limit", operation: 1250 } });
});

test("insertions in front of a very long list are given up after a bounded amount of work", () => {
  const document = { list: Array.from({ length: 1_000_000 }, () => 0) };
  const insertions = Array.from({ length: 10_000 }, () => ({ op: "add", path: "/list/0", value: 0 }));
  expect(applyJsonPatch(document, insertions)).toMatchObject({
    ok: false,
    error: { kind: "limit", operation: 99, message: 'operation 99 at "/list/0": the patch moves too many items' },
  });
  const removals = Array.from({ length: 10_000 }, () => ({ op: "remove", path: "/list/0" }));
  expect(applyJsonPatch(document, removals)).toMatchObject({ ok: false, error: { kind: "limit" } });
  expect(applyJsonPatch({ list: [1, 2, 3] }, removals.slice(0, 3))).toEqual({ ok: true, value: { list: [] } });
});

test("10,000 insertions into a long list finish", () => {
  const document = { list: Array.from({ length: 50_000 }, (_, index) => index) };
  const patch = Array.from({ length: 10_000 }, () => ({ op: "add", path: "/list/-", value: 0 }));
  const result = applyJsonPatch(document, patch);
  expect(result.ok && (result.value as typeof document).list.length).toBe(60_000);
});

test("copies of long texts count by their length", () => {
  const copies = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ op: "copy", from: "/a", path: `/b${n}` }));
  const document = { a: "x".repeat(1_000_000) };
  expect(applyJsonPatch(document, copies(3)).ok).toBe(true);
  expect(applyJsonPatch(document, copies(4))).toMatchObject({ ok: false, error: { kind: "limit", operation: 3 } });
});

test("a long patch comes in parts, whose end is what it makes as a whole", () => {
  const patch = Array.from({ length: 1200 }, (_, at) => ({ op: "add", path: `/a${at}`, value: at }));
  const parts = jsonPatchParts({}, patch);
  let count = 0;
  let part = parts.next();
  for (; part.done !== true; part = parts.next()) count += 1;
  expect(count).toBe(2);
  expect(part.value).toEqual(applyJsonPatch({}, patch));
});
