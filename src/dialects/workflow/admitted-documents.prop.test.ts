import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { templateAdmission, workflowAdmission } from "./admission.ts";
import { documents } from "./document.ts";
import { scheduleAdmission } from "./schedule/admission.ts";

// What a server refuses, `lint` calls an error: a document that passes here can be applied.

const box = { container: { image: "busybox" } };
const listed = (count: number) => Array.from({ length: count }, (_, index) => index);
const many = { items: listed(257) };
const text = { params: [{ name: "go", type: "string", default: "yes" }] };

/** Specifications that every server refuses, and with which code. */
const wrong: readonly (readonly [string, string, JsonObject])[] = [
  ["more than 1 MiB", "too-large", { steps: { a: { container: { image: "i", args: ["x".repeat(2 ** 20)] } } } }],
  ["more items than allowed", "too-many-items", { steps: { a: { ...box, forEach: many } } }],
  [
    "more items than its own limit",
    "too-many-items",
    { steps: { a: { ...box, forEach: { items: [1, 2], limit: 1 } } } },
  ],
  [
    "more combinations than allowed",
    "too-many-items",
    { steps: { a: { ...box, forEach: { matrix: { x: listed(20), y: listed(20) } } } } },
  ],
  ["a number as when", "invalid-expression", { steps: { a: { ...box, when: "1 + 1" } } }],
  ["a text as when", "invalid-expression", { steps: { a: { ...box, when: "'yes'" } } }],
  [
    "a parameter as when that is a text",
    "invalid-expression",
    { ...text, steps: { a: { ...box, when: "params.go" } } },
  ],
  ["a number as until", "invalid-expression", { steps: { a: { ...box, repeat: { until: "'x'" } } } }],
  ["a dependency named twice", "duplicate-dependency", { steps: { a: box, b: { ...box, dependencies: ["a", "a"] } } }],
  ["an unknown dependency", "unknown-dependency", { steps: { b: { ...box, dependencies: ["a"] } } }],
  [
    "a label of the selector with another value",
    "selector-conflict",
    {
      selector: { matchLabels: { app: "x" } },
      steps: { a: { template: { apiVersion: "v1", kind: "ConfigMap", metadata: { labels: { app: "y" } } } } },
    },
  ],
];

const head = (kind: string) => ({ apiVersion: "slipway.dev/v1alpha1", kind, metadata: { name: "x" } });
const workflow = (spec: JsonValue): JsonObject => ({ ...head("Workflow"), spec });
const template = (spec: JsonValue): JsonObject => ({ ...head("WorkflowTemplate"), spec });
const scheduled = (spec: JsonValue, more: JsonObject = { schedule: "@daily" }): JsonObject => ({
  ...head("ScheduledWorkflow"),
  spec: { ...more, workflowTemplate: { spec } },
});

const admissions = {
  Workflow: workflowAdmission,
  WorkflowTemplate: templateAdmission,
  ScheduledWorkflow: scheduleAdmission,
};
const refused = (document: JsonObject) =>
  admissions[document["kind"] as keyof typeof admissions].validate(document, undefined).causes;
const errors = (document: JsonObject) =>
  documents
    .lint({ value: document, positionOf: () => ({ line: 1, column: 1 }) })
    .filter(({ severity }) => severity === "error")
    .map(({ code }) => code);

describe.each([
  ["a Workflow", workflow],
  ["a WorkflowTemplate", template],
  ["a ScheduledWorkflow", scheduled],
])("%s is refused by the server and by lint", (_, document) => {
  test.each(wrong)("with %s", (_what, code, spec) => {
    expect(refused(document(spec))).not.toEqual([]);
    expect(errors(document(spec))).toContain(code);
  });
});

test.each(["*/70 * * * *", "0 */25 * * *", "0 0 */32 * *", "0 0 1 */13 *", "0 0 * * */8", "0,5/61 * * * *"])(
  "the schedule %s, whose step is larger than its field, is refused by the server and by lint",
  (schedule) => {
    for (const when of [{ schedule }, { schedules: ["@daily", schedule] }]) {
      const document = scheduled({ steps: { a: box } }, when);
      expect(refused(document)).toEqual([
        expect.objectContaining({ message: expect.stringContaining("a step may be") }),
      ]);
      expect(errors(document)).toEqual(["invalid-schedule"]);
    }
  },
);

test.each(["*/60 * * * *", "0 */24 * * *", "0 0 */31 */12 */7", "@hourly"])(
  "the schedule %s is accepted",
  (schedule) => {
    expect(errors(scheduled({ steps: { a: box } }, { schedule }))).toEqual([]);
  },
);

test("conditions that are boolean, or of which that is not known before they are evaluated, are accepted", () => {
  const params = [{ name: "on", type: "boolean", default: true }, { name: "any" }, { name: "n", type: "integer" }];
  for (const when of ["params.on", "params.any", "params.n > 1", "success() && params.on", "has(params.any)"])
    expect(errors(workflow({ params, steps: { a: { ...box, when } } })), when).toEqual([]);
});

test("whatever the server refuses, lint refuses", () => {
  const part = fc.oneof(
    fc.constantFrom(...wrong.map(([, , spec]) => spec)),
    fc.jsonValue({ maxDepth: 3 }).map((value) => value as JsonValue),
    fc.record(
      {
        steps: fc.dictionary(
          fc.constantFrom("a", "b", "c.d", ""),
          fc.record(
            {
              container: fc.constantFrom<JsonValue>(
                { image: "i" },
                {},
                { image: 1 },
                { image: "i", env: [{ name: "A", value: false }] },
              ),
              dependencies: fc.array(fc.constantFrom("a", "b", "z"), { maxLength: 3 }),
              when: fc.constantFrom("true", "1", "'a'", "params.x", "nonsense("),
              forEach: fc.constantFrom<JsonValue>(many, { items: [1] }, { from: "[1]" }, {}),
              wait: fc.constantFrom<JsonValue>({ seconds: 1 }, {}, { seconds: -1 }),
              timeoutSeconds: fc.constantFrom<JsonValue>(1, 0, "1"),
            },
            { requiredKeys: [] },
          ),
        ),
        activeDeadlineSeconds: fc.constantFrom<JsonValue>(1, -42, 1.5),
        selector: fc.constantFrom<JsonValue>({ matchLabels: { a: "b" } }, { matchExpressions: [] }, {}),
        arguments: fc.constantFrom<JsonValue>({}, { x: 1 }, []),
      },
      { requiredKeys: ["steps"] },
    ),
  );
  const kinds = fc.constantFrom<(spec: JsonValue) => JsonObject>(workflow, template, scheduled);
  fc.assert(
    fc.property(kinds, part, (kind, spec) => {
      const document = kind(spec);
      if (refused(document).length > 0) expect(errors(document)).not.toEqual([]);
    }),
    { numRuns: runs(300) },
  );
});
