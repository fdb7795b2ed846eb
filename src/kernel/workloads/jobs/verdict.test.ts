import { expect, test } from "vitest";
import { formatTime } from "#lib/base/index.ts";
import { type JobSpec, type JobStatus, trackingFinalizer } from "../job-types.ts";
import { refusedCondition } from "../pod-types.ts";
import { at, pod, start, storedJob } from "../testing/job-pods.ts";
import type { JobPod } from "./job-pod.ts";
import { retryDelay } from "./pod-demand.ts";
import { tallyOf } from "./tally.ts";
import { announcement, deadlineOf, verdictOn } from "./verdict.ts";

function verdict(spec: Partial<JobSpec>, pods: readonly JobPod[], more: { status?: JobStatus; now?: number } = {}) {
  const job = storedJob(spec, more.status ?? {});
  return verdictOn(job, tallyOf(job, pods, false), start, more.now ?? at(5));
}

const failures = (count: number) => Array.from({ length: count }, (_, index) => pod(`f${index}`, { phase: "Failed" }));
const successes = (count: number) =>
  Array.from({ length: count }, (_, index) => pod(`s${index}`, { phase: "Succeeded" }));

test.each<[string, Partial<JobSpec>, readonly JobPod[], string | undefined]>([
  ["nothing has happened", {}, [], undefined],
  ["a pod runs", {}, [pod("a")], undefined],
  ["all have succeeded", {}, successes(1), "Complete CompletionsReached"],
  ["one of two has succeeded", { completions: 2 }, successes(1), undefined],
  ["more than needed have succeeded", { completions: 1, parallelism: 2 }, successes(2), "Complete CompletionsReached"],
  ["nothing is to be completed", { completions: 0 }, [], "Complete CompletionsReached"],
  ["as many have failed as may", { backoffLimit: 2 }, failures(2), undefined],
  ["one more has failed", { backoffLimit: 2 }, failures(3), "Failed BackoffLimitExceeded"],
  ["the first failure is one too many", { backoffLimit: 0 }, failures(1), "Failed BackoffLimitExceeded"],
  [
    "too many have failed before the last success",
    { backoffLimit: 0 },
    [...failures(1), ...successes(1)],
    "Failed BackoffLimitExceeded",
  ],
  ["it is suspended and all have succeeded", { suspend: true }, successes(1), "Complete CompletionsReached"],
  ["it is suspended and one is missing", { suspend: true, completions: 2 }, successes(1), undefined],
])("when %s", (_name, spec, pods, expected) => {
  const found = verdict(spec, pods);
  expect(found === undefined ? undefined : `${found.type} ${found.reason}`).toBe(expected);
});

test("a limit that nobody set is six", () => {
  const { backoffLimit: _six, ...spec } = storedJob().spec;
  const job = { ...storedJob(), spec };
  expect(verdictOn(job, tallyOf(job, failures(6), false), start, at(5))).toBeUndefined();
  expect(verdictOn(job, tallyOf(job, failures(7), false), start, at(5))?.reason).toBe("BackoffLimitExceeded");
});

test("what a failed pod says of itself as a whole is repeated, the last one's words", () => {
  const pods = [
    pod("a", { phase: "Failed", reason: "DeadlineExceeded", endedAt: at(1) }),
    pod("b", { phase: "Failed", reason: "Evicted", message: "the disk is full", endedAt: at(3) }),
    pod("c", { phase: "Failed", endedAt: at(9) }),
  ];
  expect(verdict({ backoffLimit: 2 }, pods)?.message).toBe(
    "Job has reached the specified backoff limit; pod b: Evicted: the disk is full",
  );
  expect(
    verdict(
      { backoffLimit: 1 },
      [pods[0], pods[2]].filter((one) => one !== undefined),
    )?.message,
  ).toBe("Job has reached the specified backoff limit; pod a: DeadlineExceeded");
  expect(verdict({ backoffLimit: 0 }, failures(1))?.message).toBe("Job has reached the specified backoff limit");
});

function onFailure(restarts: readonly number[], backoffLimit: number) {
  const base = storedJob({ backoffLimit });
  const template = { spec: { ...base.spec.template.spec, restartPolicy: "OnFailure" as const } };
  return verdict(
    { backoffLimit, template },
    restarts.map((count, index) => pod(`p${index}`, { restarts: count })),
  );
}

test.each([
  [[0], 0, false],
  [[1], 0, true],
  [[1], 2, false],
  [[2], 2, true],
  [[1, 1], 2, true],
  [[1, 0], 2, false],
])("with OnFailure, restarts %j reach a limit of %d: %s", (restarts, limit, isReached) => {
  expect(onFailure(restarts, limit)?.reason).toBe(isReached ? "BackoffLimitExceeded" : undefined);
});

test("with Never, restarts are no failures of the Job", () => {
  expect(verdict({ backoffLimit: 0 }, [pod("a", { restarts: 9 })])).toBeUndefined();
});

test("a pod that its runtime refuses would be refused again: the Job fails at once and says why", () => {
  const one = pod("a", { phase: "Failed", reason: "UnsupportedPod", message: "no mounts here" });
  const conditions = [{ type: refusedCondition, status: "True", lastTransitionTime: formatTime(start) }] as const;
  expect(verdict({ backoffLimit: 6 }, [{ ...one, status: { ...one.status, conditions } }])).toEqual({
    type: "Failed",
    reason: "PodRefused",
    message: "Pod a: no mounts here",
  });
});

test("a deadline is reached at its second, and not while the Job is suspended", () => {
  const spec = { activeDeadlineSeconds: 10 };
  expect(verdict(spec, [pod("a")], { now: at(10) - 1 })).toBeUndefined();
  expect(verdict(spec, [pod("a")], { now: at(10) })?.reason).toBe("DeadlineExceeded");
  expect(verdict({ ...spec, suspend: true }, [pod("a")], { now: at(99) })).toBeUndefined();
  expect(deadlineOf(storedJob(spec), undefined)).toBeUndefined();
  expect(deadlineOf(storedJob(), start)).toBeUndefined();
});

const announced = (type: string, reason: string): JobStatus => ({
  conditions: [{ type, status: "True", reason, message: "as announced", lastTransitionTime: formatTime(start) }],
});

test.each([
  ["SuccessCriteriaMet", "SuccessPolicy", failures(9), "Complete"],
  ["FailureTarget", "DeadlineExceeded", successes(1), "Failed"],
])("what was announced by %s stands, whatever comes after it", (type, reason, pods, end) => {
  const found = verdict({ backoffLimit: 0 }, pods, { status: announced(type, reason) });
  expect(found).toEqual({ type: end, reason, message: "as announced" });
  expect(found === undefined ? "" : announcement(found)).toBe(type);
});

const indexed: Partial<JobSpec> = {
  completionMode: "Indexed",
  completions: 3,
  parallelism: 3,
  backoffLimit: 99,
  backoffLimitPerIndex: 0,
};
const at0 = (index: number, phase: "Succeeded" | "Failed" | "Running") =>
  pod(`i${index}`, { index, phase, failures: 0 });

test.each<[string, Partial<JobSpec>, readonly JobPod[], string | undefined]>([
  ["all have succeeded", {}, [0, 1, 2].map((index) => at0(index, "Succeeded")), "CompletionsReached"],
  ["one has failed for good and others run", {}, [at0(0, "Failed"), at0(1, "Running"), at0(2, "Succeeded")], undefined],
  [
    "one has failed for good and the others have succeeded",
    {},
    [at0(0, "Failed"), at0(1, "Succeeded"), at0(2, "Succeeded")],
    "FailedIndexes",
  ],
  [
    "all are settled while a pod that was too many is still ending",
    {},
    [at0(0, "Failed"), at0(1, "Succeeded"), at0(2, "Succeeded"), pod("x", { index: 1, deleted: true, held: false })],
    "FailedIndexes",
  ],
  ["all have failed for good", {}, [0, 1, 2].map((index) => at0(index, "Failed")), "FailedIndexes"],
  ["as many have failed as may", { maxFailedIndexes: 1 }, [at0(0, "Failed"), at0(1, "Running")], undefined],
  [
    "one more has failed",
    { maxFailedIndexes: 1 },
    [at0(0, "Failed"), at0(1, "Failed"), at0(2, "Running")],
    "MaxFailedIndexesExceeded",
  ],
])("of the indexes of a Job, %s", (_name, more, pods, reason) => {
  expect(verdict({ ...indexed, ...more }, pods)?.reason).toBe(reason);
});

test.each([
  [0, 0],
  [1, 10],
  [2, 20],
  [3, 40],
  [6, 320],
  [7, 600],
  [1_000, 600],
])("after %d failures the next pod waits %d s", (count, seconds) => {
  expect(retryDelay(count)).toBe(seconds * 1_000);
});

test("every pod is in one place of the count", () => {
  const status: JobStatus = {
    succeeded: 2,
    failed: 1,
    uncountedTerminatedPods: { succeeded: ["listed", "let-go"], failed: ["failed-let-go"] },
  };
  const job = storedJob({ completions: 9, parallelism: 9 }, status);
  const pods = [
    pod("listed", { phase: "Succeeded" }),
    pod("let-go", { phase: "Succeeded", held: false }),
    pod("new", { phase: "Succeeded" }),
    pod("new-failure", { phase: "Failed" }),
    pod("counted", { phase: "Succeeded", held: false }),
    pod("running"),
    pod("ending", { deleted: true }),
  ];
  const tally = tallyOf(job, pods, false);
  expect(tally).toMatchObject({
    succeeded: 5,
    failed: 4,
    settled: { succeeded: 1, failed: 1 },
    uncounted: { succeeded: ["listed", "new"], failed: ["new-failure", "ending"] },
  });
  expect(tally.active.map(({ metadata }) => metadata.uid)).toEqual(["running"]);
  expect(tally.terminating.map(({ metadata }) => metadata.uid)).toEqual(["ending"]);
  expect(pods.filter(({ metadata }) => metadata.finalizers?.includes(trackingFinalizer))).toHaveLength(5);
});

test("pods of indexes that nobody asked for are let go and count for nothing", () => {
  const job = storedJob({ ...indexed, completions: 1 });
  const tally = tallyOf(job, [pod("far", { index: 5, phase: "Failed" }), pod("none", { phase: "Succeeded" })], false);
  expect(tally.discarded.map(({ metadata }) => metadata.uid)).toEqual(["far", "none"]);
  expect(tally).toMatchObject({ succeeded: 0, failed: 0 });
});
