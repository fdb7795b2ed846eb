import { parse } from "yaml";
import { expect, test } from "vitest";
import { documentOf, fieldsOf, formatYaml, valueOf } from "./form-fields.ts";

const schema = {
  properties: {
    spec: {
      type: "object",
      required: ["project"],
      properties: {
        retries: { type: "integer", default: 3, description: "How often it is tried." },
        project: { type: "string" },
        policy: { type: "string", enum: ["Queue", "Cancel"] },
        paused: { type: "boolean" },
        tags: { type: "array", items: { type: "string" } },
        source: {
          type: "object",
          required: ["url"],
          properties: { url: { type: "string" }, deep: { type: "object", properties: {} } },
        },
        steps: { type: "array", items: { type: "object" } },
      },
    },
  },
};

test("a form has the scalar fields of a schema, the required ones first", () => {
  const fields = fieldsOf(schema);
  expect(fields.map(({ path, type, isRequired }) => [path.join("."), type, isRequired])).toEqual([
    ["spec.project", "text", true],
    ["spec.retries", "number", false],
    ["spec.policy", "choice", false],
    ["spec.paused", "boolean", false],
    ["spec.tags", "list", false],
    ["spec.source.url", "text", false],
  ]);
  expect(fields[1]).toMatchObject({ initial: "3", description: "How often it is tried." });
  expect(fieldsOf({})).toEqual([]);
});

test("a filled form is a document with what was filled in", () => {
  const head = { apiVersion: "a.example/v1", kind: "Build", name: "", namespace: "ci" };
  const texts = {
    "spec.project": "no",
    "spec.retries": "3",
    "spec.tags": " a \n\n- b",
    "spec.source.url": "https://x/y: z",
    "spec.paused": "true",
  };
  const text = documentOf(head, fieldsOf(schema), texts);
  expect(parse(text)).toEqual({
    apiVersion: "a.example/v1",
    kind: "Build",
    metadata: { generateName: "build-", namespace: "ci" },
    spec: { project: "no", paused: true, tags: ["a", "- b"], source: { url: "https://x/y: z" } },
  });
  expect(text).toContain('  project: "no"');
});

test("texts that YAML reads as something else are quoted", () => {
  const value = { a: "1", b: "true", c: "x: y", d: "", e: "# no", f: "plain text", g: 1.5, h: [] };
  expect(parse(formatYaml(value).join("\n"))).toEqual(value);
});

test("a number that is none is left for the server to judge", () => {
  expect([valueOf({ type: "number" }, "12"), valueOf({ type: "number" }, "x"), valueOf({ type: "text" }, " ")]).toEqual(
    [12, "x", undefined],
  );
});
