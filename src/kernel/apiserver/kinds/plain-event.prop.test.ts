import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { Event } from "#kernel/model/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { served } from "../testing/write-steps.ts";
import { inNamespace, tidyMetadata } from "../verbs/admission.ts";
import { checkMetadata } from "../verbs/metadata-rules.ts";
import { eventKind } from "./event.ts";
import { isPlainEvent } from "./event.ts";

const events = served(eventKind);

/** What the schema, the rules and the preparations of the kind make of an Event, and whether they object. */
function byTheSchema(sent: JsonObject): { readonly object: JsonObject; readonly objections: number } {
  const { object: pruned, unknown } = events.prune(sent);
  const metadata = checkMetadata(pruned, Event);
  if (metadata.length > 0) return { object: pruned, objections: metadata.length };
  const object = events.prepareForCreate(events.withDefaults(pruned));
  return { object, objections: unknown.length + events.validateCreate(object).causes.length };
}

const regarding = {
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  namespace: "default",
  name: "build",
  uid: "9f0c6a1e",
  resourceVersion: "17",
};

const told: JsonObject = {
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: { name: "build.0197f00ba4300001", namespace: "default" },
  eventTime: "2026-01-01T00:00:00.000000Z",
  reportingController: "slipway.dev/workflow-controller",
  reportingInstance: "slipway",
  regarding,
  type: "Normal",
  reason: "StepStarted",
  action: "Start",
  note: 'step "a" starts attempt 1',
};

/** Values of every kind, right and wrong, for any member. */
const odd = fc.constantFrom(
  undefined,
  null,
  7,
  1.5,
  2 ** 31,
  "",
  "x",
  "Normal",
  "Not a name",
  "é".repeat(513),
  "x".repeat(1024),
  [],
  {},
  "x".repeat(129),
  "2026-02-30T00:00:00Z",
  "2026-02-28T00:00:00Z",
  { name: "x" },
  { name: "x", namespace: "y" },
  { name: 1 },
  { ...regarding, namespace: "" },
  { ...regarding, other: "x" },
  regarding,
  true,
  { count: 2, lastObservedTime: "2026-01-01T00:00:00.000000Z" },
  { count: 2 },
  { count: "2" },
);
const member = fc.constantFrom(
  ...Object.keys(told),
  "related",
  "series",
  "deprecatedSource",
  "deprecatedCount",
  "unknown",
  "__proto__",
);
const spoilt = fc.array(fc.tuple(member, odd), { maxLength: 2 }).map((changes) => {
  const event = Object.fromEntries([...Object.entries(told), ...changes].filter(([, value]) => value !== undefined));
  return { ...event, apiVersion: "events.k8s.io/v1", kind: "Event" };
});

test("the schema leaves what is plain as it is, and no rule finds anything wrong in it", () => {
  fc.assert(
    fc.property(spoilt, (event) => {
      let sent: JsonObject;
      try {
        sent = tidyMetadata(inNamespace(event, events, "default"));
      } catch {
        // Refused before anybody asks whether it is plain.
        return;
      }
      if (isPlainEvent(sent)) expect(byTheSchema(sent)).toEqual({ object: sent, objections: 0 });
    }),
    { numRuns: runs(400) },
  );
});

test.each([
  ["as a controller records it", {}],
  ["of a series", { series: { count: 3, lastObservedTime: "2026-01-01T00:00:09.900000Z" } }],
  ["with a related object", { related: { kind: "Pod", name: "p" } }],
  ["whose note is as long as allowed", { note: "x".repeat(1024) }],
])("an event %s is plain", (_what, more) => {
  const sent = { ...told, ...more };
  expect(isPlainEvent(sent)).toBe(true);
  expect(byTheSchema(sent)).toEqual({ object: sent, objections: 0 });
});

test.each([
  ["bears a label", { metadata: { name: "x", namespace: "default", labels: { a: "b" } } }],
  ["has a name still to be made", { metadata: { generateName: "x-", namespace: "default" } }],
  ["is about a cluster-scoped object", { regarding: { kind: "Node", name: "n" } }],
  ["has a note of too many bytes", { note: "é".repeat(513) }],
  ["has a member nobody knows", { nonsense: true }],
])("an event that %s is left to the schema", (_what, more) => {
  expect(isPlainEvent({ ...told, ...more })).toBe(false);
});
