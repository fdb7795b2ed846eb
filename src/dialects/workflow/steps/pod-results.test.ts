import { expect, test } from "vitest";
import { FakeClock, type JsonObject } from "#lib/base/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { forbidden, Node, Pod } from "#kernel/model/index.ts";
import { containerEnd, keptOutputBytes } from "./pod-results.ts";

const labels = { job: "j" };
const signal = new AbortController().signal;

interface Ended {
  readonly exitCode: number;
  readonly message?: string;
  readonly index?: number;
  readonly container?: string;
}

async function endAfter(outcome: "succeeded" | "failed", pods: readonly (readonly Ended[])[], others: JsonObject = {}) {
  const clock = new FakeClock();
  const client = memoryClient({ clock });
  for (const [number, containers] of pods.entries()) {
    const index = containers[0]?.index;
    const annotations = index === undefined ? {} : { "batch.kubernetes.io/job-completion-index": String(index) };
    const metadata = { name: `p${number}`, namespace: "default", labels: { ...labels, ...others }, annotations };
    const pod = await client.create(Pod, { apiVersion: "v1", kind: "Pod", metadata });
    const containerStatuses = containers.map(({ exitCode, message, container = "main" }) => ({
      name: container,
      state: { terminated: { exitCode, ...(message === undefined ? {} : { message }) } },
    }));
    await client.updateStatus(Pod, { ...pod, status: { containerStatuses } });
    await clock.advance(1_000);
  }
  return await containerEnd(client, "default", labels, outcome, signal);
}

test("a Job without pods, or with pods that have not ended, tells nothing", async () => {
  expect(await endAfter("succeeded", [])).toBeUndefined();
  expect(await endAfter("succeeded", [[]])).toBeUndefined();
});

test("success is told by the pod that succeeded, not by those that failed before", async () => {
  expect(await endAfter("succeeded", [[{ exitCode: 1, message: "no" }], [{ exitCode: 0, message: "x=1" }]])).toEqual({
    exitCode: 0,
    message: "x=1",
  });
});

test("of several completions the one of index 0 counts", async () => {
  const pods = [[{ exitCode: 0, message: "second", index: 1 }], [{ exitCode: 0, message: "first", index: 0 }]];
  expect(await endAfter("succeeded", pods)).toMatchObject({ message: "first" });
});

test("failure is told by the pod that failed last", async () => {
  expect(await endAfter("failed", [[{ exitCode: 1 }], [{ exitCode: 2 }]])).toEqual({ exitCode: 2, message: "" });
});

test("of several containers main counts, else the one that failed", async () => {
  const sidecar = { exitCode: 0, container: "sidecar" };
  expect(await endAfter("failed", [[sidecar, { exitCode: 3 }]])).toMatchObject({ exitCode: 3 });
  expect(await endAfter("failed", [[sidecar, { exitCode: 4, container: "work" }]])).toMatchObject({ exitCode: 4 });
});

test("pods of other attempts are not asked", async () => {
  const client = memoryClient();
  const metadata = { name: "p", namespace: "default", labels: { job: "other" } };
  await client.create(Pod, { apiVersion: "v1", kind: "Pod", metadata });
  expect(await containerEnd(client, "default", labels, "failed", signal)).toBeUndefined();
});

test.each<[string, Record<string, string> | undefined, number | undefined]>([
  ["says so", { "slipway.dev/output-bytes": "32768" }, 32_768],
  ["says nothing", {}, undefined],
  ["says nonsense", { "slipway.dev/output-bytes": "much" }, undefined],
  ["is gone", undefined, undefined],
])("how much of outputs is kept is the word of a Node that %s", async (_what, nodeLabels, kept) => {
  const client = memoryClient({ types: [Node] });
  if (nodeLabels !== undefined) {
    const metadata = { name: "n", labels: nodeLabels };
    await client.create(Node, { apiVersion: "v1", kind: "Node", metadata });
  }
  expect(await keptOutputBytes(client, { exitCode: 0, message: "", node: "n" }, signal)).toBe(kept);
});

test("who may not look at Nodes takes them for those of a cluster, and other failures are tried again", async () => {
  const failing = (error: Error) => Object.assign(memoryClient(), { get: () => Promise.reject(error) });
  const end = { exitCode: 0, message: "", node: "n" };
  expect(await keptOutputBytes(failing(forbidden(Node, "n", "no")), end, signal)).toBeUndefined();
  await expect(keptOutputBytes(failing(new Error("away")), end, signal)).rejects.toThrow("away");
});
