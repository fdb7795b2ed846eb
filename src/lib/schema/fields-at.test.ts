import { expect, test } from "vitest";
import { fieldsAt } from "./fields-at.ts";
import type { Schema } from "./schema.ts";

const schema: Schema = {
  type: "object",
  properties: {
    steps: { type: "object", additionalProperties: { type: "object", properties: { when: {}, retry: {} } } },
    params: { type: "array", items: { type: "object", properties: { name: {} } } },
    anything: { type: "object", additionalProperties: true },
  },
};

test.each<[string, (string | number)[], string[]]>([
  ["the root", [], ["steps", "params", "anything"]],
  ["a member of a map, whatever its name", ["steps", "constructor"], ["when", "retry"]],
  ["an item of a list", ["params", 3], ["name"]],
  ["a place that is left open", ["anything", "deep"], []],
  ["a place that there is not", ["nothing", "deep"], []],
  ["a place that only objects of the language have", ["toString"], []],
])("the fields of %s", (_, path, fields) => {
  expect(fieldsAt(schema, path)).toEqual(fields);
});
