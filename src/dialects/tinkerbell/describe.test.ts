import { expect, test } from "vitest";
import { describeWorkflow } from "./describe.ts";
import { judgeEvent } from "./events.ts";
import type { WorkflowState } from "./state.ts";
import { type AnyWorkflow, statusOf } from "./stored.ts";
import { begin, pending, settings } from "./testing/states.ts";
import { dispatch, reject } from "./transitions.ts";

const document: AnyWorkflow = {
  apiVersion: "tinkerbell.org/v1alpha1",
  kind: "Workflow",
  metadata: { name: "w", namespace: "default" },
  spec: { templateRef: "t", hardwareRef: "hw" },
};
const text = (state: WorkflowState, now = begin, spec = document.spec ?? {}) =>
  describeWorkflow({ ...document, spec, status: statusOf(document, state, begin) }, { now }).split("\n");
const scheduled = dispatch(
  pending({ timeout: 60_000 }),
  { agentID: "agent-a", protocol: "stream" },
  begin,
  settings,
).state;
const context = { now: begin, settings, protocol: "stream", hasPostSteps: false, seed: "u" } as const;
const running = judgeEvent(scheduled, { is: "started", action: "id-one" }, context).state ?? scheduled;

test("a workflow that runs tells its agent, its deadline and its actions", () => {
  const failed = judgeEvent(
    running,
    { is: "failed", action: "id-one", reason: "DiskMissing", message: "no /dev/sda" },
    { ...context, now: begin + 3045 },
  ).state;
  expect(text(running, begin + 10_000)).toEqual([
    "Name:       w",
    "Namespace:  default",
    "Template:   t",
    "Hardware:   hw",
    "State:      Running",
    "Agent:      agent-a, by stream",
    "Deadline:   of the workflow in 50s",
    "",
    "ACTION  STATE    TRY  STARTED  TOOK  REASON  MESSAGE",
    "one     Running  1    10s ago  -     -",
    "two     Pending  -    -        -     -",
    "",
  ]);
  expect(text(failed ?? running, begin + 10_000)).toEqual(
    expect.arrayContaining([
      "State:      Failed (DiskMissing)",
      'Message:    action "one" failed: no /dev/sda',
      "one     Failed   1    10s ago  3s45ms  DiskMissing  no /dev/sda",
    ]),
  );
});

test.each<readonly [string, WorkflowState, string]>([
  ["its agent", pending(), "Waits:      for its agent"],
  ["its agent to start it", scheduled, "Waits:      for its agent to start it"],
])("a workflow that waits for %s says so", (_what, state, line) => {
  expect(text(state)).toContain(line);
});

test("a workflow that was refused tells how often, why, and until when it waits", () => {
  const state = reject(
    scheduled,
    { message: "busy" },
    begin,
    { ...settings, rejectBackoff: { base: 5000, max: 5000, jitter: 0 } },
    "u",
  );
  expect(text(state.state, begin + 1000)).toEqual(
    expect.arrayContaining([
      "Waits:      until 4s from now, because the agent rejected it",
      "Refused:    once, last 1s ago: busy",
    ]),
  );
});

test("a workflow that is disabled, or was not prepared, says what it lacks", () => {
  expect(text(pending({ phase: "", actions: [] }), begin, { templateRef: "t", disabled: true })).toEqual(
    expect.arrayContaining([
      "State:      not prepared",
      "Waits:      it is disabled: spec.disabled",
      "Actions:  none yet",
    ]),
  );
  const conditions = [
    { type: "TemplateRenderedSuccess", status: "False", reason: "Error", message: "template not found" },
  ];
  expect(describeWorkflow({ ...document, status: { conditions } }, { now: begin })).toContain(
    "Message:    template not found",
  );
});

test("one that has ended while its agent is held says that the agent may still be at work", () => {
  const state: WorkflowState = { ...running, phase: "Failed", reason: "X", message: "x" };
  expect(text(state)).toContain("Agent:      agent-a, which may still be at work on it");
});
