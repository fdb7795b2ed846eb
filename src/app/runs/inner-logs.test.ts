import { expect, test } from "vitest";
import { loadDialects } from "#dialects/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { type KubeObject, Pod, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { innerLogs } from "./inner-logs.ts";
import { logName } from "./pod-logs.ts";

const Workflow: ResourceType = {
  group: "slipway.dev",
  version: "v1alpha1",
  kind: "Workflow",
  plural: "workflows",
  namespaced: true,
};
const container = { container: { image: "busybox" } };
const labels = (parent: Stored, step: string, attempt: number, item?: number) => ({
  "slipway.dev/workflow-uid": parent.metadata.uid,
  "slipway.dev/step": step,
  "slipway.dev/attempt": String(attempt),
  ...(item === undefined ? {} : { "slipway.dev/item": String(item) }),
});

/** A server with runs inside of runs, as their controllers make them. */
function world() {
  const client = memoryClient({ types: [Workflow] });
  const run = (name: string, steps: object, of: Record<string, string> = {}, status: object = {}) =>
    client
      .create<KubeObject>(Workflow, {
        apiVersion: "slipway.dev/v1alpha1",
        kind: "Workflow",
        metadata: { name, namespace: "default", labels: of },
        spec: { steps },
      })
      .then((stored) => client.updateStatus(Workflow, { ...stored, status }));
  const pod = (name: string, of: Record<string, string>) =>
    client.create(Pod, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default", labels: of },
      spec: { containers: [{ name: "main", image: "busybox" }] },
    });
  const logsOf = async (object: Stored, name: string) => {
    const [dialect] = await loadDialects();
    if (dialect === undefined) throw new Error("no dialect");
    return await innerLogs(client, { object, dialect, name });
  };
  return { run, pod, logsOf };
}

test("logs of a run in a run are called by the way to them, in the order of its steps, items and attempts", async () => {
  const { run, pod, logsOf } = world();
  const steps = { last: { dependencies: ["first", "sub"], ...container }, first: container, sub: { workflow: {} } };
  const statuses = { last: { phase: "Failed", attempt: 2 }, first: { phase: "Succeeded", attempt: 1 } };
  const outer = await run("outer", steps, {}, { statuses });
  await pod("last-2", labels(outer, "last", 2));
  await pod("last-1", labels(outer, "last", 1));
  await pod("first-1", labels(outer, "first", 1, 1));
  await pod("first-0", labels(outer, "first", 1, 0));
  await pod("nobodys", { "slipway.dev/workflow-uid": outer.metadata.uid });
  const inner = await run("inner", { tell: container }, labels(outer, "sub", 2));
  await pod("tell", labels(inner, "tell", 1));
  const logs = await logsOf(outer, "part[3]");
  expect(logs.map((log) => [logName(log), log.of.name, log.inner?.isFailed])).toEqual([
    ["part[3]/first[0]", "first-0", false],
    ["part[3]/first[1]", "first-1", false],
    ["part[3]/sub#2/tell", "tell", false],
    ["part[3]/last", "last-1", true],
    ["part[3]/last#2", "last-2", true],
  ]);
});

test("a recursion is looked into ten deep", async () => {
  const { run, pod, logsOf } = world();
  const first = await run("w0", { again: container });
  let parent = first;
  for (let depth = 1; depth <= 12; depth++) {
    parent = await run(`w${depth}`, { again: container }, labels(parent, "again", 1));
    await pod(`p${depth}`, { ...labels(parent, "again", 1) });
  }
  const logs = await logsOf(first, "top");
  expect(logs.map(({ of }) => of.name).sort()).toEqual(["p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"]);
});
