import { expect, test } from "vitest";
import { deepFreeze } from "#lib/base/index.ts";
import { Draft } from "./draft.ts";

test("edits leave the original alone, even a frozen one", () => {
  const original = deepFreeze({ a: { list: [1, 2] }, b: {} });
  const draft = new Draft(original);
  expect(draft.add(["a", "list", "-"], 3).ok).toBe(true);
  expect(draft.replace(["a", "list", "0"], 0).ok).toBe(true);
  expect(draft.remove(["b"]).ok).toBe(true);
  expect(draft.root).toEqual({ a: { list: [0, 2, 3] } });
  expect(original).toEqual({ a: { list: [1, 2] }, b: {} });
});

test("a node is copied by its first edit only", () => {
  const draft = new Draft({ list: [1] });
  draft.add(["list", "-"], 2);
  const copied = draft.root;
  draft.add(["list", "-"], 3);
  expect(draft.root).toBe(copied);
});

test("nodes beside the path are shared", () => {
  const big = { many: [1, 2, 3] };
  const draft = new Draft({ big, small: { n: 1 } });
  draft.replace(["small", "n"], 2);
  expect((draft.root as { big: unknown }).big).toBe(big);
});

test("the empty path replaces the whole document, and cannot be removed", () => {
  const draft = new Draft({ a: 1 });
  expect(draft.remove([]).ok).toBe(false);
  expect(draft.replace([], [1]).ok).toBe(true);
  expect(draft.add(["0"], 0).ok).toBe(true);
  expect(draft.root).toEqual([0, 1]);
});

test.each<readonly [string, (draft: Draft) => { readonly ok: boolean }, string]>([
  ["a member of a text", (draft) => draft.add(["text", "x"], 1), '"/text" is not an object or an array'],
  ["a member of nothing", (draft) => draft.add(["none", "x"], 1), '"/none": there is no such value'],
  ["an item that is not there", (draft) => draft.remove(["list", "5"]), "the array has no index 5"],
  ["an item behind the end", (draft) => draft.add(["list", "2"], 1), "index 2 is beyond the end of an array of 1"],
  [
    "the end in front of more path",
    (draft) => draft.add(["list", "-", "x"], 1),
    '"/list/-": "-" names no existing item',
  ],
  ["an item with a leading zero", (draft) => draft.replace(["list", "00"], 1), '"00" is not an array index'],
  ["an inherited member", (draft) => draft.replace(["toString"], 1), "there is no such value"],
])("%s cannot be edited", (_, edit, message) => {
  const draft = new Draft({ text: "x", list: [1] });
  expect(edit(draft)).toEqual({ ok: false, error: message });
});

test("a member named __proto__ is set and removed like any other", () => {
  const draft = new Draft({});
  draft.add(["__proto__"], { x: 1 });
  expect(JSON.stringify(draft.root)).toBe('{"__proto__":{"x":1}}');
  draft.replace(["__proto__", "x"], 2);
  expect(JSON.stringify(draft.root)).toBe('{"__proto__":{"x":2}}');
  draft.remove(["__proto__"]);
  expect(JSON.stringify(draft.root)).toBe("{}");
  expect(Object.getPrototypeOf(draft.root)).toBe(Object.prototype);
});
