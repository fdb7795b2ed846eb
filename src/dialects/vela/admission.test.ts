import { expect, test } from "vitest";
import { jsonEquals, type JsonObject } from "#lib/base/index.ts";
import { admission } from "./admission.ts";

/** Whether who makes this change to an object becomes a writer of it. */
function counts(kind: string, before: JsonObject, after: JsonObject): boolean {
  const found = admission.find((one) => one.kind === kind);
  const acts = (object: JsonObject) => found?.actsOn?.(object) ?? null;
  return !jsonEquals(acts(before), acts(after));
}

const annotated = (annotations: JsonObject): JsonObject => ({ metadata: { annotations }, spec: {} });
const definitions = ["ComponentDefinition", "TraitDefinition", "PolicyDefinition", "WorkflowStepDefinition"];

test.each(definitions)("attack: who changes an annotation of a %s that decides what is done is its writer", (kind) => {
  expect(counts(kind, annotated({}), annotated({ "slipway.dev/task-object": "recreate" }))).toBe(true);
  expect(counts(kind, annotated({}), annotated({ "example.org/note": "a" }))).toBe(false);
  // The server's own note of the writers is no change.
  expect(counts(kind, annotated({}), annotated({ "slipway.dev/acts-for": "{}" }))).toBe(false);
  expect(counts(kind, annotated({}), { metadata: {}, spec: { schematic: {} } })).toBe(true);
});

test.each(["Application", "WorkflowRun"])(
  "attack: who changes labels of a %s, which objects get, is its writer",
  (kind) => {
    const labelled = (labels: JsonObject): JsonObject => ({ metadata: { labels }, spec: {} });
    expect(counts(kind, labelled({}), labelled({ team: "a" }))).toBe(true);
    expect(counts(kind, annotated({}), annotated({ "app.oam.dev/service-account-name": "admin" }))).toBe(true);
  },
);
