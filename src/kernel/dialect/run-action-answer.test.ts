import { expect, test } from "vitest";
import type { Stored } from "#kernel/model/index.ts";
import type { RunAction } from "./run-action.ts";
import { openActions, targetIn, targetKeys } from "./run-action-answer.ts";

type Spec = RunAction["spec"];
const target = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "wf" };
const action = (spec: Partial<Spec> & Pick<Spec, "action">, more: Pick<RunAction, "status"> = {}, second = 0) =>
  ({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "RunAction",
    metadata: {
      name: `act-${spec.action}`,
      namespace: "default",
      uid: "u",
      resourceVersion: "1",
      creationTimestamp: `2026-01-01T00:00:0${second}Z`,
    },
    spec: { target, ...spec },
    ...more,
  }) satisfies Stored<RunAction>;

test("open actions come oldest first, answered ones not at all", () => {
  const open = openActions([
    action({ action: "resume" }, {}, 2),
    action({ action: "skip" }, { status: { phase: "Done" } }),
    action({ action: "suspend" }, {}, 1),
    action({ action: "retry" }, { status: { phase: "Accepted" } }, 3),
    action({ action: "cancel" }, { status: { phase: "Refused" } }),
  ]);
  expect(open.map(({ spec }) => spec.action)).toEqual(["suspend", "resume", "retry"]);
});

test("an action is for a run of its own namespace, of the kind it names in any version", () => {
  const theirs = action({ action: "cancel", target: { ...target, apiVersion: "tinkerbell.org/v1alpha2" } });
  expect(targetKeys(theirs)).toEqual(["Workflow.tinkerbell.org/default/wf"]);
  expect(targetIn(theirs, { group: "tinkerbell.org", kind: "Workflow" })).toEqual(["default/wf"]);
  expect(targetIn(theirs, { group: "slipway.dev", kind: "Workflow" })).toEqual([]);
  expect(targetKeys(action({ action: "cancel", target: {} }))).toEqual([]);
});
