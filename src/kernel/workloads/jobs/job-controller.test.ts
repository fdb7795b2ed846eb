import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock, formatTime } from "#lib/base/index.ts";
import { conditionOf } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { Event, isNotFound, Job, type KubeObject, Pod, type Stored } from "#kernel/model/index.ts";
import { type JobObject, type JobSpec, trackingFinalizer } from "../job-types.ts";
import type { PodObject, PodPhase } from "../pod-types.ts";
import { bench, type Bench, shellJob } from "../testing/index.ts";
import { addJobController } from "./job-controller.ts";

let clock: FakeClock;
let client: MemoryClient;
let place: Bench;

beforeEach(() => {
  clock = new FakeClock();
  client = memoryClient({ clock });
  place = open();
});
afterEach(close);

function open(): Bench {
  const opened = bench({ clock, client });
  addJobController(opened.manager, { instance: "test" });
  opened.start();
  return opened;
}

async function close(): Promise<void> {
  const closed = place.close();
  await clock.advance(20_000);
  await closed;
}

/** Lets everything happen that needs no time, and what waits for company; pods get a node, and with it a grace when deleted. */
async function settled(): Promise<void> {
  await clock.advance(1_500);
  for (const { metadata, spec } of await podsOf()) {
    if (spec.nodeName !== undefined) continue;
    const ref = { type: Pod, namespace: "default", name: metadata.name };
    await client.patch(ref, { type: "merge", body: { spec: { nodeName: "n" } } });
  }
  await clock.advance(0);
}

async function create(spec: Partial<JobSpec> = {}, name = "j"): Promise<Stored<JobObject>> {
  const job = await client.create<JobObject>(Job, shellJob(name, "true", spec));
  await settled();
  return job;
}

const jobOf = (name = "j") => client.get<JobObject>({ type: Job, namespace: "default", name });
const podsOf = async () => (await client.list<PodObject>(Pod, { namespace: "default" })).items;
const isHeld = ({ metadata }: Stored) => metadata.finalizers?.includes(trackingFinalizer) === true;
const active = async () =>
  (await podsOf()).filter(({ status, metadata }) => status?.phase === undefined && !metadata.deletionTimestamp);
const endings = async (name = "j") => {
  const { conditions } = (await jobOf(name)).status ?? {};
  return ["Complete", "Failed"].filter((type) => conditionOf(conditions, type)?.status === "True");
};

/** Ends a pod as its runner would, which lets a deleted one go. */
async function end(pod: Stored<PodObject>, phase: PodPhase): Promise<void> {
  const terminated = { exitCode: phase === "Failed" ? 1 : 0, finishedAt: formatTime(clock.now()) };
  const rest = { name: "main", lastState: {}, ready: false, started: false, restartCount: 0, image: "", imageID: "" };
  const fresh = await client.get<PodObject>({ type: Pod, namespace: "default", name: pod.metadata.name });
  await client.updateStatus<PodObject>(Pod, {
    ...fresh,
    status: { phase, containerStatuses: [{ ...rest, state: { terminated } }] },
  });
  const ref = { type: Pod, namespace: "default", name: pod.metadata.name };
  if (fresh.metadata.deletionTimestamp !== undefined) await client.delete(ref, { gracePeriodSeconds: 0 });
  await settled();
}

async function endAll(phase: PodPhase): Promise<void> {
  for (const pod of await active()) await end(pod, phase);
}

const reasons = async () => {
  await clock.advance(5_000);
  const { items } = await client.list(Event, { namespace: "default" });
  return new Set(items.map((event: KubeObject) => String(Reflect.get(event, "reason"))));
};

test("a Job makes its pod, sees it succeed, is complete, and lets it go", async () => {
  const job = await create();
  const [pod, ...others] = await podsOf();
  expect(others).toEqual([]);
  expect(pod?.metadata).toMatchObject({
    generateName: "j-",
    labels: { "job-name": "j", "controller-uid": job.metadata.uid },
    finalizers: [trackingFinalizer],
  });
  expect((await jobOf()).status).toMatchObject({ active: 1, startTime: formatTime(clock.now() - 1_500) });
  await endAll("Succeeded");
  expect((await jobOf()).status).toMatchObject({ succeeded: 1, uncountedTerminatedPods: {} });
  expect(await endings()).toEqual(["Complete"]);
  expect((await podsOf()).map(isHeld)).toEqual([false]);
  expect(await reasons()).toEqual(new Set(["SuccessfulCreate", "Completed"]));
});

test("as many pods run as may, none is made twice, and the last ones are fewer", async () => {
  await create({ completions: 5, parallelism: 3 });
  expect(await active()).toHaveLength(3);
  await endAll("Succeeded");
  expect(await active()).toHaveLength(2);
  await endAll("Succeeded");
  expect(await endings()).toEqual(["Complete"]);
  expect(await podsOf()).toHaveLength(5);
});

test("a failure is followed by another pod after ten seconds, the next after twenty", async () => {
  await create();
  for (const seconds of [10, 20]) {
    await endAll("Failed");
    const failedAt = clock.now();
    while ((await active()).length === 0) await clock.advance(250);
    const waited = clock.now() - failedAt + 1_500;
    expect(waited).toBeGreaterThanOrEqual(1_000 * (seconds - 1));
    expect(waited).toBeLessThanOrEqual(1_000 * (seconds + 2));
  }
  await endAll("Succeeded");
  expect((await jobOf()).status).toMatchObject({ succeeded: 1, failed: 2 });
  expect(await endings()).toEqual(["Complete"]);
});

test("one failure too many fails the Job, after what still runs has ended", async () => {
  await create({ completions: 2, parallelism: 2, backoffLimit: 0 });
  const [first, second] = await active();
  if (first === undefined || second === undefined) throw new Error("two pods expected");
  await end(first, "Failed");
  expect(await endings()).toEqual([]);
  expect(conditionOf((await jobOf()).status?.conditions, "FailureTarget")?.reason).toBe("BackoffLimitExceeded");
  const { metadata } = await client.get({ type: Pod, namespace: "default", name: second.metadata.name });
  expect(metadata.deletionTimestamp).toBeDefined();
  await end(second, "Failed");
  expect(await endings()).toEqual(["Failed"]);
  expect((await jobOf()).status).toMatchObject({ failed: 2 });
  expect(await reasons()).toContain("BackoffLimitExceeded");
});

test("a Job past its deadline ends its pods and fails, without anybody else's news", async () => {
  await create({ activeDeadlineSeconds: 30 });
  await clock.advance(27_000);
  expect(await active()).toHaveLength(1);
  await clock.advance(5_000);
  expect(await active()).toHaveLength(0);
  for (const pod of await podsOf()) await end(pod, "Failed");
  expect(conditionOf((await jobOf()).status?.conditions, "Failed")?.reason).toBe("DeadlineExceeded");
});

test("suspending ends the pods, resuming begins anew, and nothing of it is a failure", async () => {
  await create({ backoffLimit: 0 });
  const patch = (suspend: boolean) =>
    client.patch({ type: Job, namespace: "default", name: "j" }, { type: "merge", body: { spec: { suspend } } });
  await patch(true);
  await settled();
  expect(await active()).toHaveLength(0);
  for (const pod of await podsOf()) await end(pod, "Failed");
  const suspended = (await jobOf()).status;
  expect(conditionOf(suspended?.conditions, "Suspended")?.status).toBe("True");
  expect(suspended?.startTime).toBeUndefined();
  await patch(false);
  await settled();
  expect(await active()).toHaveLength(1);
  await endAll("Succeeded");
  expect(await endings()).toEqual(["Complete"]);
  expect((await jobOf()).status?.failed).toBeUndefined();
  expect(await reasons()).toEqual(
    new Set(["SuccessfulCreate", "SuccessfulDelete", "Suspended", "Resumed", "Completed"]),
  );
});

test("a finished Job goes when its time to live is over", async () => {
  await create({ ttlSecondsAfterFinished: 60 });
  await endAll("Succeeded");
  await clock.advance(50_000);
  await jobOf();
  await clock.advance(15_000);
  await expect(jobOf()).rejects.toSatisfy(isNotFound);
});

test("a deleted Job holds none of its pods, and makes no others", async () => {
  await create({ completions: 3, parallelism: 3 });
  await client.delete({ type: Job, namespace: "default", name: "j" });
  await settled();
  // Whoever collects garbage has deleted them, and nobody keeps them from going when they have ended.
  const pods = await podsOf();
  expect(pods.map(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([false, false, false]);
  expect(pods.some(isHeld)).toBe(false);
  await clock.advance(600_000);
  expect(await podsOf()).toHaveLength(3);
});

test("a Job made again under its old name has nothing to do with the pods of the former", async () => {
  await create();
  const [former] = await podsOf();
  await client.delete({ type: Job, namespace: "default", name: "j" });
  await settled();
  await create();
  expect(await active()).toHaveLength(1);
  expect(await podsOf()).toHaveLength(2);
  if (former !== undefined) await end(former, "Succeeded");
  expect(await endings()).toEqual([]);
  expect((await jobOf()).status?.succeeded).toBeUndefined();
});

test("a Job of another controller is left alone", async () => {
  await create({ managedBy: "example.com/other" });
  expect(await podsOf()).toEqual([]);
  expect((await jobOf()).status).toBeUndefined();
});

test("a Job of indexes runs each of them once, and tells each pod its own", async () => {
  await create({ completionMode: "Indexed", completions: 3, parallelism: 2 });
  for (let round = 0; round < 2; round++) await endAll("Succeeded");
  expect((await jobOf()).status).toMatchObject({ completedIndexes: "0-2", succeeded: 3 });
  const indexes = (await podsOf()).map(
    ({ metadata }) => metadata.annotations?.["batch.kubernetes.io/job-completion-index"],
  );
  expect(new Set(indexes)).toEqual(new Set(["0", "1", "2"]));
  expect(indexes).toHaveLength(3);
});

test("a controller that comes back counts what ended meanwhile, once, and makes no pod too many", async () => {
  await create({ completions: 4, parallelism: 2 });
  await close();
  await endAll("Succeeded");
  place = open();
  await settled();
  expect(await active()).toHaveLength(2);
  await close();
  place = open();
  await settled();
  expect(await active()).toHaveLength(2);
  await endAll("Succeeded");
  expect((await jobOf()).status).toMatchObject({ succeeded: 4 });
  expect(await podsOf()).toHaveLength(4);
});

/** Makes everything but pods. */
const refusing =
  (make: MemoryClient["create"], onTry: () => void = () => undefined): MemoryClient["create"] =>
  (type, ...rest) => {
    if (type.kind !== "Pod") return make(type, ...rest);
    onTry();
    return Promise.reject(new Error("exceeded quota"));
  };

test("pods that are too many end without counting, whatever the limit", async () => {
  await create({ completions: 3, parallelism: 3, backoffLimit: 0 });
  const body = { spec: { parallelism: 1 } };
  await client.patch({ type: Job, namespace: "default", name: "j" }, { type: "merge", body });
  await settled();
  expect(await active()).toHaveLength(1);
  for (const pod of await podsOf()) if (pod.metadata.deletionTimestamp !== undefined) await end(pod, "Failed");
  for (let round = 0; round < 3; round++) await endAll("Succeeded");
  expect(await endings()).toEqual(["Complete"]);
  expect((await jobOf()).status?.failed).toBeUndefined();
});

test("a successPolicy ends what still runs, and that is nobody's failure", async () => {
  const successPolicy = { rules: [{ succeededIndexes: "0" }] };
  await create({ completionMode: "Indexed", completions: 3, parallelism: 3, backoffLimit: 0, successPolicy });
  const [leader] = (await active()).filter(({ metadata }) => metadata.generateName === "j-0-");
  if (leader === undefined) throw new Error("a pod of index 0 expected");
  await end(leader, "Succeeded");
  expect(await active()).toHaveLength(0);
  expect(await endings()).toEqual([]);
  for (const pod of await podsOf()) if (pod.metadata.deletionTimestamp !== undefined) await end(pod, "Failed");
  expect(await endings()).toEqual(["Complete"]);
  expect((await jobOf()).status?.failed).toBeUndefined();
});

test("what keeps pods from being created is told, asked for once, and keeps nothing else back", async () => {
  await create({ completions: 60, parallelism: 1 });
  let tries = 0;
  client.create = refusing(client.create.bind(client), () => tries++);
  const body = { spec: { parallelism: 50 } };
  await client.patch({ type: Job, namespace: "default", name: "j" }, { type: "merge", body });
  await clock.advance(4);
  expect(tries).toBe(1);
  await endAll("Succeeded");
  await clock.advance(600);
  expect((await jobOf()).status).toMatchObject({ succeeded: 1 });
  expect(await reasons()).toContain("FailedCreate");
});

test("a Job whose pods are refused fails at its deadline, a minute late at most", async () => {
  client.create = refusing(client.create.bind(client));
  await create({ activeDeadlineSeconds: 900 });
  await clock.advance(890_000);
  expect(await endings()).toEqual([]);
  await clock.advance(75_000);
  expect(await endings()).toEqual(["Failed"]);
});

test("an API that refuses for a while costs nothing but time", async () => {
  const create_ = client.create.bind(client);
  let refusals = 3;
  client.create = (type, ...rest) => {
    if (type.kind === "Pod" && refusals-- > 0) return Promise.reject(new Error("unavailable"));
    return create_(type, ...rest);
  };
  await create();
  await clock.advance(30_000);
  expect(refusals).toBeLessThan(0);
  expect(await active()).toHaveLength(1);
});
