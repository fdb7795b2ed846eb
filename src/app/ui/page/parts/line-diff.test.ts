import { expect, test } from "vitest";
import { withoutManagedFields } from "../data/kinds.ts";
import { diffLines, onVersionOf } from "./line-diff.ts";

const marks = { same: " ", added: "+", removed: "-", gap: "~" } as const;
const textOf = (before: string, after: string): string =>
  diffLines(before, after)
    .map(({ is, text }) => marks[is] + text)
    .join("\n");

test("a changed line stands between three lines of context", () => {
  const lines = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
  expect(textOf(lines.join("\n"), lines.join("\n").replace("e", "E"))).toBe(
    ["~⋯", " b", " c", " d", "-e", "+E", " f", " g", " h", "~⋯"].join("\n"),
  );
});

test("moved, added and removed lines, and nothing for equal texts", () => {
  expect(textOf("a\nb\nc", "b\nc\nd")).toBe("-a\n b\n c\n+d");
  expect(textOf("", "a")).toBe("-\n+a");
  expect(diffLines("a\nb", "a\nb")).toEqual([]);
});

test("the text of a person moves to the version that is there now", () => {
  const text = 'metadata:\n  resourceVersion: "5"\nspec:\n  a: $&\n';
  expect(onVersionOf(text, 'metadata:\n  resourceVersion: "$9"\n')).toBe(
    'metadata:\n  resourceVersion: "$9"\nspec:\n  a: $&\n',
  );
  expect(onVersionOf(text, "spec: {}")).toBe(text);
});

test("managed fields are left out, and only they", () => {
  const text =
    "metadata:\n  labels: {}\n  managedFields:\n  - apiVersion: v1\n    fieldsV1:\n      f:a: {}\n  name: x\nspec:\n  managedFields: 1\n";
  expect(withoutManagedFields(text)).toBe(
    "metadata:\n  labels: {}\n  name: x\nspec:\n  managedFields: 1\n".replace(
      "  managedFields: 1\n",
      "  managedFields: 1\n",
    ),
  );
});
