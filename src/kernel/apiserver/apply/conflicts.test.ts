import { describe, expect, test } from "vitest";
import { type Conflict, conflictCauses, conflictMessage, conflictsBeyond, conflictsWith } from "./conflicts.ts";
import type { FieldSet } from "./field-set.ts";
import type { Manager } from "./managers.ts";

const fields: FieldSet = { "f:spec": { "f:a": {}, "f:keyed": { 'k:{"name":"i"}': { ".": {}, "f:value": {} } } } };
const manager = (name: string, more: Partial<Manager> = {}): Manager => ({
  name,
  operation: "Update",
  apiVersion: "example.org/v1",
  subresource: "",
  time: "2024-01-01T00:00:00Z",
  fields,
  ...more,
});
const at = (path: readonly string[], more: Partial<Manager> = {}): Conflict => ({ manager: manager("m", more), path });

describe("the message", () => {
  test.each<[string, Partial<Manager>, string]>([
    ["an updater", {}, 'conflict with "m" using example.org/v1'],
    [
      "an updater of a subresource",
      { subresource: "status" },
      'conflict with "m" with subresource "status" using example.org/v1',
    ],
    ["an applier", { operation: "Apply" }, 'conflict with "m"'],
    [
      "an applier of a subresource",
      { operation: "Apply", subresource: "status" },
      'conflict with "m" with subresource "status"',
    ],
    ["a name with quotes", { name: 'a"b', operation: "Apply" }, 'conflict with "a\\"b"'],
  ])("names %s", (_name, more, text) => {
    expect(conflictMessage([at(["f:spec", "f:a"], more)])).toBe(`Apply failed with 1 conflict: ${text}: .spec.a`);
    expect(conflictCauses([at(["f:spec", "f:a"], more)])).toEqual([
      { reason: "FieldManagerConflict", field: ".spec.a", message: text },
    ]);
  });

  test("groups several by manager", () => {
    const conflicts = conflictsWith([manager("z", { operation: "Apply" }), manager("b")], fields);
    expect(conflictMessage(conflicts)).toBe(
      [
        'Apply failed with 6 conflicts: conflicts with "b" using example.org/v1:',
        "- .spec.a",
        '- .spec.keyed[name="i"]',
        '- .spec.keyed[name="i"].value',
        'conflicts with "z":',
        "- .spec.a",
        '- .spec.keyed[name="i"]',
        '- .spec.keyed[name="i"].value',
      ].join("\n"),
    );
    expect(conflictCauses(conflicts)).toHaveLength(6);
  });
});

test("only what both have is a conflict", () => {
  expect(conflictsWith([manager("m")], { "f:spec": { "f:b": {} } })).toEqual([]);
  expect(conflictsWith([manager("m")], {})).toEqual([]);
});

test("allowed conflicts are left out, by their very paths", () => {
  const conflicts = conflictsWith([manager("m")], fields);
  const beyond = conflictsBeyond(conflicts, { "f:spec": { "f:a": {}, "f:keyed": { 'k:{"name":"i"}': {} } } });
  expect(beyond.map(({ path }) => path.at(-1))).toEqual(["f:value"]);
});
