import { beforeEach, expect, test } from "vitest";
import { FakeClock, formatTime } from "#lib/base/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { isNotFound, type Stored } from "#kernel/model/index.ts";
import { Workflow, type WorkflowStatus, isFinished } from "../kinds.ts";
import { expireWorkflow } from "./finished.ts";

const signal = new AbortController().signal;
let clock: FakeClock;
let client: MemoryClient;
beforeEach(() => {
  clock = new FakeClock();
  client = memoryClient({ clock, types: [Workflow] });
});

const ref = { type: Workflow, namespace: "default", name: "wf" };

async function workflow(
  ttlSecondsAfterFinished: number | undefined,
  status?: WorkflowStatus,
): Promise<Stored<Workflow>> {
  const created = await client.create<Workflow>(Workflow, {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: "wf", namespace: "default" },
    spec: { steps: {}, ...(ttlSecondsAfterFinished === undefined ? {} : { ttlSecondsAfterFinished }) },
  });
  return status === undefined ? created : client.updateStatus<Workflow>(Workflow, { ...created, status });
}

const ended = (): WorkflowStatus => ({ phase: "Succeeded", completionTime: formatTime(clock.now()) });
const expire = (object: Stored<Workflow>) => expireWorkflow(client, object, clock.now(), signal);
const exists = async () => (await client.list(Workflow, { namespace: "default" })).items.length > 0;

test.each([
  [undefined, false],
  ["Pending", false],
  ["Cancelling", false],
  ["Succeeded", true],
  ["Failed", true],
  ["Canceled", true],
] as const)("a workflow that is %s has ended: %s", async (phase, expected) => {
  expect(isFinished(await workflow(undefined, phase === undefined ? undefined : { phase }))).toBe(expected);
});

test("without a time to live, or before its end, it stays", async () => {
  expect(await expire(await workflow(undefined, ended()))).toBeUndefined();
  await client.delete(ref);
  expect(await expire(await workflow(0, { phase: "Running" }))).toBeUndefined();
  expect(await exists()).toBe(true);
});

test("its time to live counts from its end, to the millisecond it is over", async () => {
  const object = await workflow(60, ended());
  expect(await expire(object)).toBe(60_000);
  await clock.advance(59_999);
  expect(await expire(object)).toBe(1);
  expect(await exists()).toBe(true);
  await clock.advance(1);
  expect(await expire(object)).toBeUndefined();
  await expect(client.get(ref)).rejects.toSatisfy(isNotFound);
});

test("an end that nobody wrote down is long ago", async () => {
  expect(await expire(await workflow(60, { phase: "Failed" }))).toBeUndefined();
  expect(await exists()).toBe(false);
});

test("an object made again under the name is left alone, and one that is gone is no failure", async () => {
  const former = await workflow(0, ended());
  await client.delete(ref);
  await expire(former);
  const again = await workflow(0);
  await expire(former);
  expect(await client.get(ref)).toEqual(again);
});
