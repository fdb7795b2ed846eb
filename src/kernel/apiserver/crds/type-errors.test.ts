import { expect, test } from "vitest";
import { compileSchema, type Schema } from "#lib/schema/index.ts";
import { inBody } from "./custom-resource.ts";

const schema: Schema = {
  type: "object",
  properties: {
    size: { type: "integer", minimum: 1 },
    name: { type: "string" },
    list: { type: "array", items: { type: "boolean" } },
    port: { "x-kubernetes-int-or-string": true },
  },
};
const messages = (value: object) =>
  inBody(compileSchema(schema).validate(JSON.parse(JSON.stringify(value)))).map(
    ({ field, message }) => `${field}: ${message}`,
  );

test.each([
  [{ size: "3" }, 'size: Invalid value: "string": size in body must be of type integer: "string"'],
  [{ size: 1.5 }, 'size: Invalid value: "number": size in body must be of type integer: "number"'],
  [
    { name: { a: ": must be of type x, not y" } },
    'name: Invalid value: "object": name in body must be of type string: "object"',
  ],
  [{ list: [true, null] }, 'list[1]: Invalid value: "null": list[1] in body must be of type boolean: "null"'],
  [{ port: [] }, 'port: Invalid value: "array": port in body must be of type integer,string: "array"'],
  [{ size: 0 }, "size: Invalid value: 0: must be greater than or equal to 1"],
])("%j is told in the words of API servers", (value, expected) => {
  expect(messages(value)).toEqual([expected]);
});
