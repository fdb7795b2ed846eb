import { expect, test } from "vitest";
import { formatTime } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { indexAnnotation, type JobObject, type JobSpec, type JobStatus, trackingFinalizer } from "../job-types.ts";
import { shellJob } from "../testing/index.ts";
import { at, pod, start, storedJob } from "../testing/job-pods.ts";
import { type JobPod, podFor } from "./job-pod.ts";
import { planJob } from "./plan-job.ts";

const uids = (pods: readonly JobPod[]) => pods.map(({ metadata }) => metadata.uid);
const conditions = (status: JobStatus) => (status.conditions ?? []).map((c) => `${c.type}=${c.status} ${c.reason}`);

test("a new Job creates its pods and starts its time", () => {
  const plan = planJob(storedJob({ completions: 5, parallelism: 2 }), [], at(0));
  expect(plan.create).toHaveLength(2);
  expect(plan.status).toMatchObject({ startTime: "2026-01-01T00:00:00Z", uncountedTerminatedPods: {} });
  expect(plan.isUrgent).toBe(false);
});

test("a pod that still runs is counted as active and nothing more is created", () => {
  const plan = planJob(storedJob(), [pod("a")], at(1));
  expect(plan.create).toEqual([]);
  expect(plan.status).toMatchObject({ active: 1, ready: 0 });
});

test("the last success ends the Job in one write, and its pods go after it", () => {
  const job = storedJob();
  const plan = planJob(job, [pod("a", { phase: "Succeeded" })], at(2));
  expect(plan.isUrgent).toBe(true);
  expect(plan.release).toEqual([]);
  expect(plan.status).toMatchObject({
    succeeded: 1,
    completionTime: "2026-01-01T00:00:02Z",
    uncountedTerminatedPods: {},
  });
  expect(plan.status.active).toBeUndefined();
  expect(conditions(plan.status)).toEqual([
    "SuccessCriteriaMet=True CompletionsReached",
    "Complete=True CompletionsReached",
  ]);
  const after = planJob(storedJob({}, plan.status), [pod("a", { phase: "Succeeded" })], at(2));
  expect(after.release.map(({ metadata }) => metadata.uid)).toEqual(["a"]);
  expect(after.status).toEqual(plan.status);
});

test("at most 500 ended pods are listed at a time, those that are listed first, and each counts once", () => {
  const spec = { completions: 2_000, parallelism: 1, backoffLimit: 1_000 };
  const many = (phase: "Succeeded" | "Failed", name: string, length: number) =>
    Array.from({ length }, (_, index) => pod(`${name}${index}`, { phase }));
  let pods: readonly JobPod[] = many("Failed", "f", 490);
  let { status } = planJob(storedJob(spec), pods, at(2));
  pods = [...many("Succeeded", "s", 700), ...pods, pod("runs")];
  const listed: number[][] = [];
  for (;;) {
    const plan = planJob(storedJob(spec, status), pods, at(2));
    const { succeeded = [], failed = [] } = plan.status.uncountedTerminatedPods ?? {};
    listed.push([succeeded.length, failed.length]);
    const released = new Set(uids(planJob(storedJob(spec, plan.status), pods, at(2)).release));
    if (released.size === 0) break;
    ({ status } = plan);
    pods = pods.filter(({ metadata }) => !released.has(metadata.uid));
  }
  expect(listed).toEqual([
    [10, 490],
    [500, 0],
    [190, 0],
    [0, 0],
  ]);
  const last = planJob(storedJob(spec, status), pods, at(2));
  expect(last.status).toMatchObject({ succeeded: 700, failed: 490, active: 1 });
});

test("a condition tells when it was last set", () => {
  const { status } = planJob(storedJob({ suspend: true }), [], at(2));
  const time = formatTime(at(2));
  expect(status.conditions).toMatchObject([{ type: "Suspended", lastProbeTime: time, lastTransitionTime: time }]);
  expect(planJob(storedJob({ suspend: true }, status), [], at(9)).status.conditions).toEqual(status.conditions);
});

test("ended pods are listed first, let go when that is stored, counted when they are let go", () => {
  const spec = { completions: 3, parallelism: 1 };
  const first = planJob(storedJob(spec), [pod("a", { phase: "Succeeded" })], at(2));
  expect(first.status.uncountedTerminatedPods).toEqual({ succeeded: ["a"] });
  expect(first.status.succeeded).toBeUndefined();
  expect(first.release).toEqual([]);
  expect(first.create).toHaveLength(1);
  const second = planJob(storedJob(spec, first.status), [pod("a", { phase: "Succeeded" }), pod("b")], at(2));
  expect(second.release.map(({ metadata }) => metadata.uid)).toEqual(["a"]);
  expect(second.status.uncountedTerminatedPods).toEqual({ succeeded: ["a"] });
  const third = planJob(
    storedJob(spec, second.status),
    [pod("a", { phase: "Succeeded", held: false }), pod("b")],
    at(2),
  );
  expect(third.status).toMatchObject({ succeeded: 1, uncountedTerminatedPods: {} });
  expect(third.release).toEqual([]);
});

test("the same pods in the same state never count twice", () => {
  const spec = { completions: 3, parallelism: 1 };
  const status = { succeeded: 1, uncountedTerminatedPods: {}, startTime: formatTime(start) };
  const plan = planJob(storedJob(spec, status), [pod("a", { phase: "Succeeded", held: false }), pod("b")], at(2));
  expect(plan.status.succeeded).toBe(1);
});

test.each([
  [1, 10],
  [2, 20],
  [3, 40],
  [7, 600],
])("after %d failures in a row the next pod waits %d seconds", (failures, seconds) => {
  const pods = Array.from({ length: failures }, (_, i) =>
    pod(`p${i}`, { phase: "Failed", held: false, endedAt: at(5) }),
  );
  const job = storedJob({ backoffLimit: 99 }, { failed: failures, uncountedTerminatedPods: {} });
  const early = planJob(job, pods, at(5 + seconds) - 1);
  expect(early.create).toEqual([]);
  expect(early.wakeAt).toBe(at(5 + seconds));
  expect(planJob(job, pods, at(5 + seconds)).create).toHaveLength(1);
});

test("a success ends the row of failures", () => {
  const job = storedJob({ completions: 3, backoffLimit: 99 }, { failed: 2, succeeded: 1, uncountedTerminatedPods: {} });
  const pods = [
    pod("a", { phase: "Failed", held: false, endedAt: at(1) }),
    pod("b", { phase: "Failed", held: false, endedAt: at(2) }),
    pod("c", { phase: "Succeeded", held: false, endedAt: at(3) }),
  ];
  expect(planJob(job, pods, at(4)).create).toHaveLength(1);
});

test("more failures than the limit fail the Job, and what still runs is ended first", () => {
  const job = storedJob({ completions: 4, parallelism: 2, backoffLimit: 0 });
  const pods = [pod("a", { phase: "Failed" }), pod("b")];
  const target = planJob(job, pods, at(2));
  expect(conditions(target.status)).toEqual(["FailureTarget=True BackoffLimitExceeded"]);
  expect(target).toMatchObject({ isUrgent: true, remove: [], drop: [] });
  const announced = planJob(storedJob(job.spec, target.status), pods, at(2));
  expect(uids(announced.remove)).toEqual(["b"]);
  const ending = planJob(storedJob(job.spec, target.status), [pods[0], pod("b", { deleted: true })] as JobPod[], at(3));
  expect(conditions(ending.status)).toEqual(["FailureTarget=True BackoffLimitExceeded"]);
  const over = planJob(
    storedJob(job.spec, ending.status),
    [pod("a", { phase: "Failed", held: false }), pod("b", { deleted: true, phase: "Failed" })],
    at(4),
  );
  expect(conditions(over.status)).toEqual([
    "FailureTarget=True BackoffLimitExceeded",
    "Failed=True BackoffLimitExceeded",
  ]);
  expect(over.status.failed).toBe(2);
});

test("with OnFailure the restarts of running pods count", () => {
  const job = storedJob({ backoffLimit: 2 });
  const { template } = job.spec;
  const spec = { ...job.spec, template: { spec: { ...template.spec, restartPolicy: "OnFailure" as const } } };
  expect(planJob({ ...job, spec }, [pod("a", { restarts: 1 })], at(2)).remove).toEqual([]);
  const plan = planJob({ ...job, spec }, [pod("a", { restarts: 2 })], at(2));
  expect(conditions(plan.status)).toEqual(["FailureTarget=True BackoffLimitExceeded"]);
});

test("a Job past its deadline fails; before it the Job looks again then", () => {
  const job = storedJob({ activeDeadlineSeconds: 30 }, { startTime: formatTime(start) });
  expect(planJob(job, [pod("a")], at(29)).wakeAt).toBe(at(30));
  const plan = planJob(job, [pod("a")], at(30));
  expect(conditions(plan.status)).toEqual(["FailureTarget=True DeadlineExceeded"]);
  expect(planJob(storedJob(job.spec, plan.status), [pod("a")], at(30)).remove).toHaveLength(1);
});

test("the start of a deadline is written at once", () => {
  expect(planJob(storedJob({ activeDeadlineSeconds: 30 }), [], at(0)).isUrgent).toBe(true);
});

test("a work queue is done when one pod has succeeded and none is left", () => {
  const { completions: _none, ...spec } = shellJob("j", "true", { parallelism: 3 }).spec;
  const job: Stored<JobObject> = { ...storedJob(), spec };
  expect(planJob(job, [], at(0)).create).toHaveLength(3);
  const busy = planJob(job, [pod("a", { phase: "Succeeded" }), pod("b")], at(1));
  expect(busy.create).toEqual([]);
  expect(conditions(busy.status)).toEqual([]);
  const done = planJob(job, [pod("a", { phase: "Succeeded" }), pod("b", { phase: "Succeeded" })], at(1));
  expect(done.status).toMatchObject({ succeeded: 2 });
  expect(conditions(done.status)).toContain("Complete=True CompletionsReached");
});

test("suspending ends the pods, stops the time, and none of them is a failure", () => {
  const running = { startTime: formatTime(start), active: 1 };
  const plan = planJob(storedJob({ suspend: true }, running), [pod("a")], at(5));
  expect(uids(plan.drop)).toEqual(["a"]);
  expect(plan.remove).toEqual([]);
  expect(plan.status.startTime).toBeUndefined();
  expect(conditions(plan.status)).toEqual(["Suspended=True JobSuspended"]);
  const dropped = [pod("a", { deleted: true, held: false })];
  const ending = planJob(storedJob({ suspend: true }, plan.status), dropped, at(6));
  expect(ending.status).toMatchObject({ terminating: 1, uncountedTerminatedPods: {} });
  expect(ending.status.failed).toBeUndefined();
  const resumed = planJob(storedJob({}, ending.status), [], at(60));
  expect(conditions(resumed.status)).toEqual(["Suspended=False JobResumed"]);
  expect(resumed.status.startTime).toBe("2026-01-01T00:01:00Z");
  expect(resumed.create).toHaveLength(1);
});

test("a Job that ends after the clock was set back ends no earlier than it began", () => {
  const status: JobStatus = { startTime: formatTime(at(3600)) };
  const plan = planJob(storedJob({}, status), [pod("a", { phase: "Succeeded" })], at(2));
  expect(plan.status).toMatchObject({ startTime: formatTime(at(3600)), completionTime: formatTime(at(3600)) });
});

test("a Job that was suspended from the beginning has no start", () => {
  const plan = planJob(storedJob({ suspend: true }), [], at(5));
  expect(plan.create).toEqual([]);
  expect(plan.status.startTime).toBeUndefined();
});

test("a finished Job goes when its time to live is over", () => {
  const status: JobStatus = {
    completionTime: formatTime(at(10)),
    conditions: [{ type: "Complete", status: "True", lastTransitionTime: formatTime(at(10)) }],
  };
  expect(planJob(storedJob({ ttlSecondsAfterFinished: 20 }, status), [], at(29))).toMatchObject({
    expires: false,
    wakeAt: at(30),
  });
  expect(planJob(storedJob({ ttlSecondsAfterFinished: 20 }, status), [], at(30)).expires).toBe(true);
  expect(planJob(storedJob({}, status), [], at(9_999)).expires).toBe(false);
});

test("a Job that is being deleted holds no pod", () => {
  const job = storedJob({}, {}, { deletionTimestamp: formatTime(at(1)) });
  const plan = planJob(job, [pod("a"), pod("b", { phase: "Failed" })], at(2));
  expect(plan.release).toHaveLength(2);
  expect(plan.create).toEqual([]);
});

test("pods beyond the parallelism are ended, those that run last", () => {
  const job = storedJob({ completions: 5, parallelism: 1 });
  const plan = planJob(job, [pod("running"), pod("waiting", { phase: "Pending" })], at(1));
  expect(uids(plan.drop)).toEqual(["waiting"]);
  // Let go before they are deleted, so that nobody counts them as failures.
  const after = planJob(job, [pod("running"), pod("waiting", { deleted: true, held: false })], at(2));
  expect(after.status.uncountedTerminatedPods).toEqual({});
});

test("a deleted pod is replaced at once, or only when it has ended", () => {
  const deleted = [pod("a", { deleted: true })];
  const atOnce = planJob(storedJob(), deleted, at(1));
  expect(atOnce.create).toHaveLength(1);
  expect(atOnce.status.uncountedTerminatedPods).toEqual({ failed: ["a"] });
  expect(atOnce.status.terminating).toBe(1);
  const later = planJob(storedJob({ podReplacementPolicy: "Failed" }), deleted, at(1));
  expect(later.create).toEqual([]);
  expect(later.status.uncountedTerminatedPods).toEqual({});
});

test("an Indexed Job runs the lowest open indexes and keeps one pod for each", () => {
  const job = storedJob(
    { completionMode: "Indexed", completions: 5, parallelism: 3 },
    { completedIndexes: "0", succeeded: 1 },
  );
  const plan = planJob(job, [pod("b", { index: 2 })], at(1));
  expect(plan.create).toEqual([{ index: 1 }, { index: 3 }]);
  const twice = planJob(job, [pod("b", { index: 2 }), pod("c", { index: 2 })], at(1));
  expect(twice.drop).toHaveLength(1);
});

test("indexes complete once, however often they succeed", () => {
  const job = storedJob({ completionMode: "Indexed", completions: 3, parallelism: 3 });
  const pods = [
    pod("a", { index: 1, phase: "Succeeded" }),
    pod("b", { index: 1, phase: "Succeeded" }),
    pod("c", { index: 0 }),
  ];
  const plan = planJob(job, pods, at(1));
  expect(plan.status).toMatchObject({ succeeded: 1, completedIndexes: "1" });
});

test("a limit per index gives up on the index, not on the others", () => {
  const spec: Partial<JobSpec> = {
    completionMode: "Indexed",
    completions: 2,
    parallelism: 2,
    backoffLimit: 2_147_483_647,
    backoffLimitPerIndex: 1,
  };
  const once = planJob(
    storedJob(spec),
    [pod("a", { index: 0, phase: "Failed", failures: 0 }), pod("b", { index: 1 })],
    at(2),
  );
  expect(once.create).toEqual([]);
  expect(once.wakeAt).toBe(at(11));
  expect(once.status.failedIndexes).toBe("");
  const again = planJob(
    storedJob(spec),
    [pod("a", { index: 0, phase: "Failed", failures: 0 }), pod("b", { index: 1 })],
    at(11),
  );
  expect(again.create).toEqual([{ index: 0, failures: 1 }]);
  const lost = planJob(
    storedJob(spec),
    [pod("a", { index: 0, phase: "Failed", failures: 1 }), pod("b", { index: 1 })],
    at(60),
  );
  expect(lost.create).toEqual([]);
  expect(lost.status.failedIndexes).toBe("0");
  const over = planJob(
    storedJob(spec, lost.status),
    [pod("a", { index: 0, phase: "Failed", failures: 1 }), pod("b", { index: 1, phase: "Succeeded" })],
    at(61),
  );
  expect(conditions(over.status)).toEqual(["FailureTarget=True FailedIndexes", "Failed=True FailedIndexes"]);
  expect(over.status).toMatchObject({ completedIndexes: "1", failedIndexes: "0", succeeded: 1, failed: 1 });
});

const perIndex: Partial<JobSpec> = {
  completionMode: "Indexed",
  completions: 2,
  parallelism: 2,
  backoffLimit: 2_147_483_647,
  backoffLimitPerIndex: 3,
};

test("the last failed pod of an index is kept until another carries its number on", () => {
  const failedOnce = pod("a", { index: 0, phase: "Failed", failures: 0 });
  const listed = { uncountedTerminatedPods: { failed: ["a"] } };
  const waits = planJob(storedJob(perIndex, listed), [failedOnce, pod("b", { index: 1 })], at(5));
  expect(waits).toMatchObject({ create: [], wakeAt: at(11), release: [] });
  const replaced = [failedOnce, pod("b", { index: 1 }), pod("c", { index: 0, failures: 1 })];
  expect(uids(planJob(storedJob(perIndex, listed), replaced, at(11)).release)).toEqual(["a"]);
});

test("deleting the failed pod of an index forgets nothing: its next pod knows, after the pause", () => {
  const gone = pod("a", { index: 0, phase: "Failed", failures: 1, deleted: true });
  const pods = [gone, pod("b", { index: 1 })];
  expect(planJob(storedJob(perIndex), pods, at(21) - 1).create).toEqual([]);
  expect(planJob(storedJob(perIndex), pods, at(21)).create).toEqual([{ index: 0, failures: 2 }]);
});

test("a pod of an index that was too many, or suspended, is no failure of the index", () => {
  const dropped = pod("a", { index: 0, failures: 1, deleted: true, held: false });
  const plan = planJob(storedJob(perIndex), [dropped, pod("b", { index: 1 })], at(2));
  expect(plan.create).toEqual([{ index: 0, failures: 0 }]);
});

test("pods that are still ending take their place, when only failed ones are replaced", () => {
  const spec: Partial<JobSpec> = {
    completionMode: "Indexed",
    completions: 4,
    parallelism: 2,
    podReplacementPolicy: "Failed",
  };
  const pods = [pod("a", { index: 0, deleted: true }), pod("b", { index: 1 })];
  expect(planJob(storedJob(spec), pods, at(2)).create).toEqual([]);
});

test("indexes beyond completions that were made fewer count for nothing", () => {
  const spec: Partial<JobSpec> = { completionMode: "Indexed", completions: 3, parallelism: 3 };
  const plan = planJob(storedJob(spec, { completedIndexes: "0,3,4", succeeded: 3 }), [], at(2));
  expect(plan.create).toEqual([{ index: 1 }, { index: 2 }]);
  expect(plan.status).toMatchObject({ succeeded: 1, completedIndexes: "0" });
});

test("no more than five hundred pods are created at once", () => {
  const job = storedJob({ completions: 2_000, parallelism: 700 });
  expect(planJob(job, [], at(0)).create).toHaveLength(500);
  const indexed = storedJob({ ...job.spec, completionMode: "Indexed" });
  expect(planJob(indexed, [], at(0)).create).toHaveLength(500);
});

test("too many failed indexes end the Job", () => {
  const spec: Partial<JobSpec> = {
    completionMode: "Indexed",
    completions: 3,
    parallelism: 3,
    backoffLimitPerIndex: 0,
    maxFailedIndexes: 0,
  };
  const plan = planJob(
    storedJob(spec),
    [pod("a", { index: 0, phase: "Failed", failures: 0 }), pod("b", { index: 1 })],
    at(2),
  );
  expect(conditions(plan.status)).toEqual(["FailureTarget=True MaxFailedIndexesExceeded"]);
});

test("a successPolicy is met before all indexes are, and the rest is ended", () => {
  const spec: Partial<JobSpec> = {
    completionMode: "Indexed",
    completions: 3,
    parallelism: 3,
    backoffLimit: 0,
    successPolicy: { rules: [{ succeededIndexes: "0-1", succeededCount: 1 }] },
  };
  const plan = planJob(storedJob(spec), [pod("a", { index: 1, phase: "Succeeded" }), pod("b", { index: 2 })], at(2));
  expect(conditions(plan.status)).toEqual(["SuccessCriteriaMet=True SuccessPolicy"]);
  expect(plan).toMatchObject({ isUrgent: true, remove: [], drop: [] });
  // Nobody misses what still ran, and its end is no failure, which might be one too many.
  const pods = [pod("a", { index: 1, phase: "Succeeded" }), pod("b", { index: 2 })];
  const ending = planJob(storedJob(spec, plan.status), pods, at(3));
  expect(uids(ending.drop)).toEqual(["b"]);
  expect(ending.remove).toEqual([]);
  const over = planJob(storedJob(spec, ending.status), pods.slice(0, 1), at(4));
  expect(conditions(over.status)).toEqual(["SuccessCriteriaMet=True SuccessPolicy", "Complete=True SuccessPolicy"]);
  expect(over.status.failed).toBeUndefined();
});

test.each([
  [
    "FailJob",
    "FailureTarget=True PodFailurePolicy",
    "Container main for pod default/a failed with exit code 42 matching FailJob rule at index 0",
  ],
  ["Ignore", undefined, undefined],
] as const)("a podFailurePolicy of %s decides", (action, expected, message) => {
  const rules = [{ action, onExitCodes: { operator: "In" as const, values: [42] } }];
  const job = storedJob({ backoffLimit: 0, podFailurePolicy: { rules } });
  const plan = planJob(job, [pod("a", { phase: "Failed", exitCode: 42 })], at(60));
  expect(conditions(plan.status)[0]).toBe(expected);
  if (message === undefined) {
    expect(plan.release).toHaveLength(1);
    expect(plan.create).toHaveLength(1);
    expect(plan.status.failed).toBeUndefined();
  } else {
    expect(plan.status.conditions?.[0]?.message).toBe(message);
  }
});

test("a long name leaves room for the index, and a host name of the template is not every index's", () => {
  const job = storedJob({ completionMode: "Indexed", completions: 30 });
  const { template } = job.spec;
  const named = {
    ...job,
    metadata: { ...job.metadata, name: "n".repeat(60) },
    spec: { ...job.spec, template: { spec: { ...template.spec, hostname: "mine" } } },
  };
  const made = podFor(named, { index: 29 });
  expect(made.metadata.generateName).toBe(`${"n".repeat(54)}-29-`);
  expect(made.spec.hostname).toBe(`${"n".repeat(60)}-29`);
});

test("a pod of an index carries its number in annotation, label, name, host name and variable", () => {
  const made = podFor(storedJob({ completionMode: "Indexed", completions: 3 }), { index: 2 });
  expect(made.metadata).toMatchObject({
    generateName: "j-2-",
    annotations: { [indexAnnotation]: "2" },
    labels: {
      [indexAnnotation]: "2",
      "batch.kubernetes.io/job-name": "j",
      "batch.kubernetes.io/controller-uid": "job-uid",
    },
    finalizers: [trackingFinalizer],
    ownerReferences: [{ kind: "Job", uid: "job-uid", controller: true, blockOwnerDeletion: true }],
  });
  expect(made.spec.hostname).toBe("j-2");
  expect(made.spec.containers[0]?.env?.[0]).toMatchObject({ name: "JOB_COMPLETION_INDEX" });
});
