import { expect, test } from "vitest";
import { formatTime } from "#lib/base/index.ts";
import type { FailureRule, SuccessRule } from "../job-types.ts";
import type { ContainerStatus, PodStatus } from "../pod-types.ts";
import { pod, start, storedJob } from "../testing/job-pods.ts";
import type { JobPod } from "./job-pod.ts";
import { judgeFailure, metSuccessRule } from "./policies.ts";

const container = (name: string, exitCode: number): ContainerStatus => ({
  name,
  state: { terminated: { exitCode } },
  lastState: {},
  ready: false,
  started: false,
  restartCount: 0,
  image: "",
  imageID: "",
});

function failed(status: PodStatus): JobPod {
  const base = pod("p", { phase: "Failed" });
  return { ...base, status: { phase: "Failed", ...status } };
}

const codes = (...all: readonly [string, number][]) =>
  failed({ containerStatuses: all.map(([name, code]) => container(name, code)) });
const disrupted = (status: "True" | "False" = "True") =>
  failed({ conditions: [{ type: "DisruptionTarget", status, lastTransitionTime: formatTime(start) }] });

const judge = (rules: readonly FailureRule[], one: JobPod) =>
  judgeFailure(storedJob({ podFailurePolicy: { rules } }).spec, one);
const exitCodes = (operator: "In" | "NotIn", values: readonly number[], containerName?: string) => ({
  operator,
  values,
  ...(containerName === undefined ? {} : { containerName }),
});

test.each<[string, readonly FailureRule[], JobPod, string]>([
  ["no rules", [], codes(["main", 1]), "Count"],
  ["a code in the list", [{ action: "Ignore", onExitCodes: exitCodes("In", [1, 42]) }], codes(["main", 42]), "Ignore"],
  ["a code not in the list", [{ action: "Ignore", onExitCodes: exitCodes("In", [42]) }], codes(["main", 1]), "Count"],
  [
    "a code outside the list",
    [{ action: "FailJob", onExitCodes: exitCodes("NotIn", [1]) }],
    codes(["main", 2]),
    "FailJob",
  ],
  [
    "a success outside the list",
    [{ action: "FailJob", onExitCodes: exitCodes("NotIn", [1]) }],
    codes(["main", 0]),
    "Count",
  ],
  ["a success in the list", [{ action: "FailJob", onExitCodes: exitCodes("In", [0]) }], codes(["main", 0]), "Count"],
  [
    "the code of another container",
    [{ action: "FailJob", onExitCodes: exitCodes("In", [42], "main") }],
    codes(["side", 42], ["main", 1]),
    "Count",
  ],
  [
    "the code of the named container",
    [{ action: "FailJob", onExitCodes: exitCodes("In", [42], "side") }],
    codes(["side", 42], ["main", 0]),
    "FailJob",
  ],
  [
    "a condition that holds",
    [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }],
    disrupted(),
    "Ignore",
  ],
  [
    "a condition that does not",
    [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }],
    disrupted("False"),
    "Count",
  ],
  [
    "a condition that must not hold",
    [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "False" }] }],
    disrupted("False"),
    "Ignore",
  ],
  [
    "several rules: the first that matches",
    [
      { action: "FailJob", onExitCodes: exitCodes("In", [7]) },
      { action: "Ignore", onExitCodes: exitCodes("In", [1]) },
      { action: "FailIndex", onExitCodes: exitCodes("NotIn", [7]) },
    ],
    codes(["main", 1]),
    "Ignore",
  ],
  [
    "containers that have not ended",
    [{ action: "FailJob", onExitCodes: exitCodes("NotIn", [1]) }],
    failed({}),
    "Count",
  ],
])("a failure with %s is judged", (_name, rules, one, action) => {
  expect(judge(rules, one).action).toBe(action);
});

test("init containers are judged as well", () => {
  const one = failed({ initContainerStatuses: [container("prepare", 3)], containerStatuses: [] });
  expect(judge([{ action: "FailJob", onExitCodes: exitCodes("In", [3]) }], one)).toEqual({
    action: "FailJob",
    message: "Container prepare for pod default/p failed with exit code 3 matching FailJob rule at index 0",
  });
});

test("the rule that decided is named by its place", () => {
  const rules: readonly FailureRule[] = [
    { action: "Ignore", onExitCodes: exitCodes("In", [7]) },
    { action: "FailJob", onPodConditions: [{ type: "DisruptionTarget" }] },
  ];
  expect(judge(rules, disrupted()).message).toBe(
    "Pod default/p has condition DisruptionTarget matching FailJob rule at index 1",
  );
});

test.each<[string, readonly SuccessRule[], readonly number[], number | undefined]>([
  ["no rules", [], [0, 1, 2], undefined],
  ["a count that is reached", [{ succeededCount: 2 }], [4, 9], 0],
  ["a count that is not", [{ succeededCount: 3 }], [4, 9], undefined],
  ["all indexes of a list", [{ succeededIndexes: "0,2-3" }], [0, 2, 3], 0],
  ["one too few of them", [{ succeededIndexes: "0,2-3" }], [0, 2, 4], undefined],
  ["some of a list", [{ succeededIndexes: "0-9", succeededCount: 2 }], [1, 7, 99], 0],
  ["as many, but of others", [{ succeededIndexes: "0-1", succeededCount: 2 }], [1, 7, 99], undefined],
  ["a later rule", [{ succeededCount: 9 }, { succeededIndexes: "1" }], [1], 1],
  ["two rules that are met", [{ succeededIndexes: "1" }, { succeededCount: 1 }], [1], 0],
])("with %s a Job has met rule %#", (_name, rules, completed, expected) => {
  expect(metSuccessRule(storedJob({ successPolicy: { rules } }).spec, new Set(completed))).toBe(expected);
});
