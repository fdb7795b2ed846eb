import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { noFindings } from "#kernel/specs/index.ts";
import { jobStatusRule } from "./job-status-rules.ts";

const at = "2026-01-01T00:00:00Z";
const later = "2026-01-01T00:01:00Z";
const jobOf = (status: JsonObject, spec: JsonObject = {}): JsonObject => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "j" },
  spec: { completions: 2, parallelism: 1, completionMode: "NonIndexed", ...spec },
  status,
});
const conditions = (...types: readonly string[]) => ({ conditions: types.map((type) => ({ type, status: "True" })) });

/** What is said against a status that follows another one. */
function saidOf(status: JsonObject, before: JsonObject = {}, spec: JsonObject = {}): readonly string[] {
  const found = noFindings();
  jobStatusRule(jobOf(status, spec), found, jobOf(before, spec));
  return found.errors.map(({ field, message }) => `${field}: ${message}`);
}

const complete = {
  ...conditions("SuccessCriteriaMet", "Complete"),
  startTime: at,
  completionTime: later,
  succeeded: 2,
};
const failed = { ...conditions("FailureTarget", "Failed"), startTime: at, failed: 1 };
const indexed = { completionMode: "Indexed" };

test.each<[string, JsonObject, JsonObject, JsonObject]>([
  ["a start", { startTime: at, active: 1, ready: 0, terminating: 0, uncountedTerminatedPods: {} }, {}, {}],
  ["an announced success", { ...conditions("SuccessCriteriaMet"), startTime: at, active: 1 }, { startTime: at }, {}],
  ["a success", complete, { startTime: at, active: 1 }, {}],
  ["a failure", failed, { startTime: at, active: 1 }, {}],
  ["a suspension, which takes the start along", { active: 0 }, { startTime: at, active: 1 }, { suspend: true }],
  ["indexes", { completedIndexes: "0-1", failedIndexes: "" }, {}, { ...indexed, backoffLimitPerIndex: 1 }],
  ["fewer successes of a Job that was scaled", { succeeded: 1 }, { succeeded: 2 }, { ...indexed, parallelism: 2 }],
  ["what an older writer has left", { ...conditions("Complete"), ready: 0 }, conditions("Complete"), {}],
  ["nothing done by a Job with nothing to do", { ...complete, startTime: null }, {}, { suspend: true, completions: 0 }],
])("%s may be said", (_what, status, before, spec) => {
  const { startTime, ...rest } = status;
  expect(saidOf(startTime === null ? rest : status, before, spec)).toEqual([]);
});

test.each<[string, JsonObject, JsonObject, string]>([
  [
    "both ends",
    { ...complete, ...conditions("SuccessCriteriaMet", "Complete", "Failed") },
    {},
    "Complete=True and Failed",
  ],
  ["an end without its announcement", { ...complete, ...conditions("Complete") }, {}, "without the SuccessCriteriaMet"],
  ["a failure without its announcement", { ...failed, ...conditions("Failed") }, {}, "without the FailureTarget"],
  ["both announcements", conditions("SuccessCriteriaMet", "FailureTarget"), {}, "together with"],
  ["an end while Pods are active", { ...complete, active: 1 }, {}, "status.active: "],
  ["an end while Pods are ending", { ...failed, terminating: 1 }, {}, "status.terminating: "],
  ["an end with Pods that are not counted", { ...failed, uncountedTerminatedPods: { failed: ["u"] } }, {}, "uncounted"],
  ["an end without a start", conditions("FailureTarget", "Failed"), {}, "startTime is required"],
  ["a completion without its time", { ...complete, completionTime: undefined }, {}, "completionTime is required"],
  ["a time of a completion that is none", { startTime: at, completionTime: at }, {}, "no Complete=True"],
  ["a completion before the start", { ...complete, startTime: later, completionTime: at }, {}, "before startTime"],
  ["another time of completion", { ...complete, completionTime: at }, complete, "cannot be mutated"],
  ["the end taken back", { startTime: at }, failed, "cannot disable the terminal Failed=True"],
  ["fewer failures", { ...failed, failed: 0 }, failed, "decrease the failed counter"],
  ["fewer successes", { succeeded: 0 }, { succeeded: 1 }, "decrease the succeeded counter"],
  ["another start", { startTime: later }, { startTime: at }, "startTime cannot be removed or modified"],
  ["more ready than active", { active: 1, ready: 2 }, {}, "more ready pods"],
  ["less than nothing", { active: -1 }, {}, "greater than or equal to 0"],
  ["indexes of a Job without any", { completedIndexes: "0" }, {}, "non-indexed"],
  ["failed indexes without a limit per index", { failedIndexes: "0" }, {}, "backoffLimitPerIndex is null"],
])("%s is refused", (_what, status, before, message) => {
  const { completionTime, ...rest } = status;
  expect(saidOf(completionTime === undefined ? rest : status, before).join("\n")).toContain(message);
});

test.each([
  ["1-0", "no range"],
  ["0,5", "too large"],
  ["x", "neither an index"],
])("indexes such as %j are refused", (completedIndexes, message) => {
  expect(saidOf({ completedIndexes }, {}, indexed).join("\n")).toContain(message);
});
