import { afterEach, beforeEach, expect, test } from "vitest";
import { Job, Pod, type Stored } from "#kernel/model/index.ts";
import { Harness, job, namespace } from "../testing/harness.ts";

// Deleting a Job ends its processes later: they have a grace. No further attempt may start beside them.

let harness: Harness;
beforeEach(() => {
  harness = new Harness();
});
afterEach(() => harness.close());

const retry = { limit: 2, initialSeconds: 1, factor: 1 };

/** A pod as a Job controller makes it, which has not ended. */
async function podOf(owner: Stored, phase = "Running"): Promise<Stored> {
  const pod = await harness.store.create(Pod, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `${owner.metadata.name}-x`, namespace, labels: owner.metadata.labels ?? {} },
  });
  return harness.store.updateStatus(Pod, { ...pod, status: { phase } });
}

const attempts = async () => (await harness.jobs()).map(({ metadata }) => metadata.labels?.["slipway.dev/attempt"]);

test("after a timeout the next attempt waits until the last process of the one before has ended", async () => {
  await harness.create({ steps: { slow: job({ timeoutSeconds: 5, retry }) } });
  const pod = await podOf(await harness.jobOf("slow"));
  await harness.pass(10_000);
  expect(await attempts()).toEqual([]);
  const { slow } = (await harness.status()).statuses ?? {};
  expect(slow).toMatchObject({
    phase: "Waiting",
    reason: "Lock",
    attempt: 2,
    message: `pod ${pod.metadata.name} of attempt 1 has not ended yet`,
  });
  await harness.pass(30_000);
  expect(await attempts()).toEqual([]);
  await harness.store.delete({ type: Pod, namespace, name: pod.metadata.name }, { gracePeriodSeconds: 0 });
  // Nothing but the news of the Pod: no clock moves.
  await harness.settle();
  expect(await attempts()).toEqual(["2"]);
  await harness.end("slow");
  expect(await harness.phases()).toEqual({ slow: "Succeeded" });
});

test.each(["Succeeded", "Failed"])("a pod that is %s and still there holds nothing up", async (phase) => {
  await harness.create({ steps: { slow: job({ timeoutSeconds: 5, retry }) } });
  await podOf(await harness.jobOf("slow"), phase);
  await harness.pass(8_000);
  expect(await attempts()).toEqual(["2"]);
});

test("a Job that somebody deleted is no different", async () => {
  await harness.create({ steps: { flaky: job({ retry }) } });
  const found = await harness.jobOf("flaky");
  const pod = await podOf(found);
  await harness.store.delete({ type: Job, namespace, name: found.metadata.name });
  await harness.pass(10_000);
  expect(await attempts()).toEqual([]);
  await harness.store.updateStatus(Pod, { ...pod, status: { phase: "Failed" } });
  await harness.pass(60_000);
  expect(await attempts()).toEqual(["2"]);
});

test("retrying a canceled run waits as well, and only for the processes of its own step", async () => {
  await harness.create({ steps: { one: job(), two: job() } });
  const pod = await podOf(await harness.jobOf("one"));
  await harness.act("cancel");
  await harness.pass(1_000);
  expect(await harness.phases()).toEqual({ one: "Canceled/RunCanceled", two: "Canceled/RunCanceled" });
  await harness.act("retry");
  await harness.pass(5_000);
  expect(await harness.active()).toEqual(["two"]);
  await harness.store.delete({ type: Pod, namespace, name: pod.metadata.name }, { gracePeriodSeconds: 0 });
  await harness.pass(60_000);
  expect(await harness.active()).toEqual(["one", "two"]);
});

test("waiting for an earlier attempt uses up no attempt and is no failure", async () => {
  await harness.create({ steps: { slow: job({ timeoutSeconds: 5, retry: { ...retry, limit: 1 } }) } });
  const pod = await podOf(await harness.jobOf("slow"));
  await harness.pass(120_000);
  expect((await harness.status()).statuses?.["slow"]).toMatchObject({ phase: "Waiting", attempt: 2 });
  await harness.store.delete({ type: Pod, namespace, name: pod.metadata.name }, { gracePeriodSeconds: 0 });
  await harness.settle();
  await harness.end("slow");
  expect((await harness.status()).phase).toBe("Succeeded");
  expect(harness.events.filter(({ reason }) => reason === "StepRetrying")).toHaveLength(1);
});

test("a first attempt asks for no pods", async () => {
  let lists = 0;
  await harness.close();
  harness = new Harness({
    wrap: (store) => {
      const list = store.list.bind(store);
      store.list = (type, ...rest) => {
        if (type.kind === "Pod") lists++;
        return list(type, ...rest);
      };
      return store;
    },
  });
  await harness.create({ steps: { one: job(), two: job({ dependencies: ["one"] }) } });
  await harness.endAll();
  expect(lists).toBe(0);
});

test("the Pods of a step are found although the author has given them another value of a label of the selector", async () => {
  const pod = {
    metadata: { labels: { app: "web" } },
    spec: { restartPolicy: "Never", containers: [{ name: "main", image: "i" }] },
  };
  const steps = { a: { jobTemplate: { spec: { template: pod } }, outputs: { tag: {} } } };
  await harness.create({ selector: { matchLabels: { app: "one" } }, steps });
  const made = await harness.jobOf("a");
  expect(made.metadata.labels).toMatchObject({ app: "one" });
  expect(made.spec).toMatchObject({ template: { metadata: { labels: { app: "web" } } } });
  await harness.end("a", { message: "tag=1" });
  expect((await harness.status()).statuses?.["a"]).toMatchObject({ phase: "Succeeded", outputs: { tag: "1" } });
});
