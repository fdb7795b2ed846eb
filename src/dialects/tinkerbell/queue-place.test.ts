import { expect, test } from "vitest";
import { formatInstant } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { describeWorkflow } from "./describe.ts";
import { neighboursOf } from "./queue-place.ts";
import type { WorkflowState } from "./state.ts";
import { type AnyWorkflow, statusOf } from "./stored.ts";
import { begin, pending, settings } from "./testing/states.ts";
import { cancel, dispatch } from "./transitions.ts";

/** A workflow created so many seconds after the first. */
function workflow(name: string, second: number, state: WorkflowState = pending(), namespace = "default"): AnyWorkflow {
  const creationTimestamp = formatInstant(begin + second * 1000);
  const document = {
    apiVersion: "tinkerbell.org/v1alpha1",
    kind: "Workflow",
    metadata: { name, namespace, uid: name, creationTimestamp },
    spec: { templateRef: "t" },
  };
  return { ...document, status: statusOf(document, state, begin) };
}
const agent = (status: object) => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Agent",
  metadata: { name: "agent-a" },
  spec: { agentID: "agent-a" },
  status,
});
const scheduled = dispatch(pending(), { agentID: "agent-a", protocol: "stream" }, begin, settings).state;

/** The lines that are told of its queue and its agent. */
const told = (subject: AnyWorkflow, children: readonly KubeObject[], hidden: readonly string[] = []) =>
  describeWorkflow(subject, { now: begin + 60_000, children, hidden })
    .split("\n")
    .filter((line) => /^(?:Queue|Seen):/.test(line))
    .map((line) => line.replace(/^\w+: +/, ""));

const w = workflow("w", 5);

test.each<readonly [string, readonly AnyWorkflow[], string]>([
  ["alone", [w], "1st for agent agent-a"],
  ["behind an older one", [workflow("a", 1), w, workflow("z", 9)], "2nd for agent agent-a, behind wf/a"],
  ["behind what its agent has", [workflow("a", 9, scheduled), w], "2nd for agent agent-a, behind wf/a"],
  [
    "behind both, the nearest of which is told",
    [workflow("b", 4), workflow("a", 1, scheduled), w],
    "3rd for agent agent-a, behind wf/b",
  ],
  ["behind one of another namespace", [workflow("a", 1, pending(), "x"), w], "2nd for agent agent-a, behind wf/x/a"],
  [
    "among many",
    [w, ...Array.from({ length: 11 }, (_, at) => workflow(`a${at}`, 1))],
    "12th for agent agent-a, behind wf/a9",
  ],
])("a workflow that waits tells its place in the queue: %s", (_how, all, text) => {
  expect(told(w, all)[0]).toBe(text);
});

test.each<readonly [string, readonly KubeObject[], string]>([
  ["never came", [], "agent agent-a is not connected"],
  [
    "has gone",
    [agent({ connected: false, lastSeen: formatInstant(begin) })],
    "agent agent-a is not connected, last seen 60s ago",
  ],
  [
    "is there",
    [agent({ connected: true, protocol: "poll", lastSeen: formatInstant(begin + 50_000) })],
    "agent agent-a is connected by poll, last seen 10s ago",
  ],
])("what is known of its agent is told: %s", (_how, agents, text) => {
  expect(told(w, [w, ...agents])[1]).toBe(text);
  expect(told(workflow("w", 5, scheduled), agents)).toEqual([text]);
});

test("nothing is told of what the caller may not see, and of what has ended", () => {
  expect(told(w, [w], ["Agent"])).toEqual(["1st for agent agent-a"]);
  expect(told(w, [], ["Agent", "Workflow"])).toEqual([]);
  const ended = workflow("w", 5, cancel(pending(), "canceled by User").state);
  expect(neighboursOf(ended)).toEqual([]);
  expect(told(ended, [ended])).toEqual([]);
});
