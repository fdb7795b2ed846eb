import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { Manager } from "#kernel/kit/index.ts";
import { memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { ConfigMap, type KubeObject, Secret, type Stored } from "#kernel/model/index.ts";
import { WatchedKinds, workflowsOf } from "./watched-kinds.ts";

const owner = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "wf", uid: "u", controller: true };
const configMap = (name: string, metadata: object = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default", ...metadata },
});

function setUp() {
  const clock = new FakeClock();
  const client = memoryClient({ clock });
  const manager = new Manager({ client, clock, log: silentLog, random: seededRandom(1) });
  const asked: string[] = [];
  const kinds = new WatchedKinds(manager, (key) => void asked.push(key));
  const settle = async (): Promise<readonly string[]> => {
    for (let turn = 0; turn < 5; turn++) await clock.advance(0);
    return asked.splice(0);
  };
  return { client, kinds, settle, manager };
}

test("who asks for a mirror gets a pass when it is filled", async () => {
  const { kinds, settle, manager } = setUp();
  const mirror = kinds.acquire(ConfigMap, "default/wf");
  expect(mirror.hasSynced()).toBe(false);
  expect(await settle()).toEqual(["default/wf"]);
  expect(mirror.hasSynced()).toBe(true);
  expect(kinds.acquire(ConfigMap, "default/wf")).toBe(mirror);
  await manager.informers.close();
});

test("a change asks for the workflow that controls the object, and for all that refer to it", async () => {
  const { client, kinds, settle, manager } = setUp();
  kinds.acquire(ConfigMap, "default/wf");
  kinds.refer(ConfigMap, "default/shared", "default/one");
  kinds.refer(ConfigMap, "default/shared", "default/two");
  await settle();
  await client.create(ConfigMap, configMap("child", { ownerReferences: [owner] }));
  expect(await settle()).toEqual(["default/wf"]);
  await client.create(ConfigMap, configMap("shared"));
  expect(await settle()).toEqual(["default/one", "default/two"]);
  kinds.forget("default/one");
  await client.delete({ type: ConfigMap, namespace: "default", name: "shared" });
  expect(await settle()).toEqual(["default/two"]);
  await client.create(ConfigMap, configMap("foreign"));
  expect(await settle()).toEqual([]);
  await manager.informers.close();
});

test("a mirror stops with the last workflow that needs it", async () => {
  const { client, kinds, settle, manager } = setUp();
  kinds.acquire(ConfigMap, "default/one");
  kinds.acquire(ConfigMap, "default/two");
  await settle();
  kinds.forget("default/one");
  await client.create(ConfigMap, configMap("a", { ownerReferences: [owner] }));
  expect(await settle()).toEqual(["default/wf"]);
  kinds.forget("default/two");
  await client.create(ConfigMap, configMap("b", { ownerReferences: [owner] }));
  expect(await settle()).toEqual([]);
  await manager.informers.close();
});

test("children and strays are found among all mirrored kinds", async () => {
  const { client, kinds, settle, manager } = setUp();
  kinds.acquire(ConfigMap, "default/wf");
  kinds.acquire(Secret, "default/wf");
  await settle();
  await client.create(ConfigMap, configMap("child", { ownerReferences: [owner] }));
  await client.create(Secret, {
    ...configMap("stray", { labels: { "slipway.dev/workflow-uid": "u" } }),
    kind: "Secret",
  });
  await settle();
  const workflow: Stored = {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    metadata: {
      name: "wf",
      namespace: "default",
      uid: "u",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
  };
  expect(kinds.controlledBy(workflow).map(({ metadata }) => metadata.name)).toEqual(["child"]);
  expect(kinds.strays("u").map(({ metadata }) => metadata.name)).toEqual(["stray"]);
  expect(kinds.strays("other")).toEqual([]);
  await manager.informers.close();
});

test.each<[string, object, readonly string[]]>([
  ["controlled by a workflow", { ownerReferences: [owner] }, ["default/wf"]],
  [
    "controlled by something else",
    {
      ownerReferences: [{ ...owner, kind: "Job" }],
      labels: { "slipway.dev/workflow-uid": "u", "slipway.dev/workflow": "wf" },
    },
    [],
  ],
  [
    "with a workflow's labels alone",
    { labels: { "slipway.dev/workflow-uid": "u", "slipway.dev/workflow": "wf" } },
    ["default/wf"],
  ],
  ["with neither", { labels: { app: "x" } }, []],
])("an object %s concerns %j", (_what, metadata, expected) => {
  expect(workflowsOf(configMap("o", metadata))).toEqual(expected);
});
