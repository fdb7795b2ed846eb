import { expect, test } from "vitest";
import { customTable } from "./custom-table.ts";
import type { DefinitionColumn } from "./definition.ts";

const now = Date.UTC(2026, 0, 31, 12);
const object = {
  kind: "Widget",
  metadata: { name: "x", creationTimestamp: "2026-01-31T11:00:00Z" },
  spec: { n: 3, half: 1.5, on: false, list: ["a", "b"], "a.b": "dotted", empty: null, blank: "" },
  status: {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Done", status: "False" },
    ],
  },
};
const cell = (type: DefinitionColumn["type"], jsonPath: string) =>
  customTable([{ name: "C", type, jsonPath, priority: 0 }]).row(object, now)[1];

test.each<[DefinitionColumn["type"], string, unknown]>([
  ["integer", ".spec.n", 3],
  ["integer", ".spec.half", 1],
  ["integer", ".spec.on", null],
  ["number", ".spec.half", 1.5],
  ["boolean", ".spec.on", false],
  ["string", ".spec.n", "3"],
  ["string", ".spec.list", '["a","b"]'],
  ["string", ".spec.list[*]", "a"],
  ["string", ".spec.a\\.b", "dotted"],
  ["string", '.status.conditions[?(@.type=="Ready")].status', "True"],
  ["string", ".spec.missing", ""],
  ["string", ".spec.empty", ""],
  ["integer", ".spec.missing", null],
  ["date", ".metadata.creationTimestamp", "60m"],
  ["date", ".spec.missing", null],
  ["date", ".spec.n", null],
  ["date", ".kind", "<invalid>"],
  ["date", ".spec.blank", "<unknown>"],
])("a %s at %s is %j", (type, path, expected) => {
  expect(cell(type, path)).toEqual(expected);
});

test("without columns the age is shown", () => {
  const table = customTable([]);
  expect(table.columns.map((column) => column.name)).toEqual(["Name", "Age"]);
  expect(table.row(object, now)).toEqual(["x", "60m"]);
});
