import fc from "fast-check";
import { expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { workflowAdmission } from "./admission.ts";
import { documents } from "./document.ts";
import { validateWorkflow } from "./validate.ts";

// Whatever is in a document, it is answered with problems: nothing throws, and nothing wrong compiles.

const pod = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "i" }] } };
const good: JsonObject = {
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name: "wf", namespace: "default" },
  spec: {
    activeDeadlineSeconds: 60,
    selector: { matchLabels: { app: "x" } },
    params: [{ name: "who", type: "string", default: "you" }],
    arguments: { who: "me" },
    outputs: { answer: "steps.b.outputs.x" },
    stepDefaults: { timeoutSeconds: 5 },
    steps: {
      a: {
        jobTemplate: { metadata: { labels: { app: "x" } }, spec: { template: pod } },
        retry: { limit: 1, on: ["Error"] },
      },
      b: {
        container: { image: "i", args: ["${{ params.who }}"] },
        dependencies: ["a"],
        when: "success()",
        outputs: { x: { default: 1 } },
      },
      c: { externalRef: { apiVersion: "v1", kind: "ConfigMap", name: "c" }, completion: { success: "true" } },
      d: { wait: { seconds: 1 } },
      e: { template: { apiVersion: "v1", kind: "ConfigMap", metadata: { labels: {} } }, ownership: "Owned" },
    },
    finally: { z: { container: { image: "${{ run.phase }}" } } },
  },
};

/** Every place of a document, as the members that lead there. */
function places(value: JsonValue, path: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] {
  if (typeof value !== "object" || value === null) return [path];
  const members = isJsonObject(value) ? Object.entries(value) : [...value.entries()];
  return [path, ...members.flatMap(([name, member]) => (member === undefined ? [] : places(member, [...path, name])))];
}

function replaced(value: JsonValue, [name, ...rest]: readonly (string | number)[], by: JsonValue): JsonValue {
  if (name === undefined) return by;
  if (isJsonObject(value)) return { ...value, [name]: replaced(value[name] ?? null, rest, by) };
  const list: readonly JsonValue[] = Array.isArray(value) ? value : [];
  return list.map((item, index) => (index === name ? replaced(item, rest, by) : item));
}

const specPlaces = places(good).filter(([root]) => root === "spec");
const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<JsonValue>("${{ 1 + }}", "${{ steps.a }}", "", -1, 1.5, {}, [], [[]], null, "a.b", {
    dependencyIDs: ["a"],
  }),
);
const damaged = fc
  .array(fc.tuple(fc.constantFrom(...specPlaces), odd), { minLength: 1, maxLength: 4 })
  .map((changes) => changes.reduce<JsonValue>((document, [path, value]) => replaced(document, path, value), good))
  .filter(isJsonObject);

test("the document this starts from is right", () => {
  expect(validateWorkflow(good)).toMatchObject({ problems: [], compiled: expect.anything() });
});

test("a damaged document is answered, and compiles exactly when nothing is wrong with it", () => {
  fc.assert(
    fc.property(damaged, (document) => {
      const { problems, compiled } = validateWorkflow(document);
      const errors = problems.filter((problem) => problem.severity === "error");
      expect(compiled === undefined).toBe(errors.length > 0);
      for (const { path, message } of problems) {
        expect(path === "spec" || path.startsWith("spec.")).toBe(true);
        expect(message).not.toMatch(/undefined|\[object/);
      }
    }),
    { numRuns: runs(500) },
  );
});

test("reading and linting anything at all gives problems with places, and never throws", () => {
  const positionOf = () => ({ file: "f", line: 1, column: 1 });
  fc.assert(
    fc.property(fc.oneof(damaged, fc.jsonValue()), (value) => {
      const source = { value: value as JsonValue, positionOf };
      const { object, problems } = documents.read(source);
      expect(object === undefined).toBe(problems.some((problem) => problem.severity === "error"));
      for (const problem of [...problems, ...documents.lint(source)]) expect(problem.position).toEqual(positionOf());
    }),
    { numRuns: runs(300) },
  );
});

test("no change of a document makes admission throw", () => {
  fc.assert(
    fc.property(damaged, damaged, (next, before) => {
      const { causes } = workflowAdmission.validate(next, before);
      for (const { field } of causes) expect(field).toMatch(/^spec/);
    }),
    { numRuns: runs(300) },
  );
});
