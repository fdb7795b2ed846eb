import { expect, test } from "vitest";
import { FakeClock, formatMicroTime, formatTime } from "#lib/base/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { Lease, Node as NodeType } from "#kernel/model/index.ts";
import { bench, testNode } from "../testing/index.ts";
import { addNode, type MachineInfo, type NodeObject, type NodeState } from "./keep-node.ts";

const info: MachineInfo = {
  version: "1.2.3",
  runtime: "process",
  runtimeVersion: "7.8",
  osImage: "Test OS",
  kernelVersion: "6.1",
  operatingSystem: "linux",
  architecture: "amd64",
};
const ref = { type: NodeType, name: testNode.name };

async function started(
  clock: FakeClock,
  client = memoryClient({ clock, types: [NodeType] }),
  meanwhile = (): Promise<unknown> => clock.advance(1000),
  trouble: () => string | undefined = () => undefined,
  conditions: NodeState["conditions"] = [],
) {
  const place = bench({ clock, client });
  addNode(place.manager, testNode, info, { trouble, conditions });
  place.start();
  await meanwhile();
  const closed = place.close();
  await clock.advance(20_000);
  await closed;
  return { client, node: await client.get<NodeObject>(ref) };
}

test("the machine's Node says what it is and has", async () => {
  const clock = new FakeClock();
  const { node } = await started(clock);
  expect(node).toMatchObject({
    metadata: { labels: testNode.labels },
    status: {
      addresses: [
        { type: "InternalIP", address: "127.0.0.1" },
        { type: "Hostname", address: "test-node" },
      ],
      capacity: { cpu: "4", memory: "8388608Ki", pods: "110" },
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: formatTime(Date.UTC(2026, 0, 1)) }],
      nodeInfo: { kubeletVersion: "v1.33.0+slipway.1.2.3", containerRuntimeVersion: "process://7.8" },
    },
  });
});

test("a later start keeps what others have written, and when it became ready", async () => {
  const clock = new FakeClock();
  const { client, node } = await started(clock);
  const pressure = {
    type: "DiskPressure",
    status: "False",
    reason: "r",
    message: "m",
    lastHeartbeatTime: "2026-01-01T00:00:00Z",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const conditions = [...(node.status?.conditions ?? []), pressure];
  await client.updateStatus<NodeObject>(NodeType, { ...node, status: { ...node.status, conditions } });
  const body = { metadata: { labels: { rack: "7" } }, spec: { unschedulable: true } };
  await client.patch<NodeObject>(ref, { type: "merge", body });
  await clock.advance(3_600_000);
  const { node: after } = await started(clock, client);
  expect(after).toMatchObject({
    metadata: { labels: { ...testNode.labels, rack: "7" } },
    spec: { unschedulable: true },
  });
  const [other, ready] = after.status?.conditions ?? [];
  expect(other).toEqual(pressure);
  expect(ready?.lastTransitionTime).toBe("2026-01-01T00:00:00Z");
  expect(ready?.lastHeartbeatTime).not.toBe("2026-01-01T00:00:00Z");
});

test("what is unwise about a server is a condition, until it is told to be mended", async () => {
  const clock = new FakeClock();
  const told = (isTrue: boolean) => [{ type: "Insecure", isTrue, reason: "R", message: String(isTrue) }];
  const soon = () => clock.advance(1000);
  const { client, node } = await started(clock, undefined, soon, undefined, told(true));
  expect(node.status?.conditions).toMatchObject([{ type: "Ready" }, { type: "Insecure", status: "True", reason: "R" }]);
  const { node: after } = await started(clock, client, soon, undefined, told(false));
  expect(after.status?.conditions).toMatchObject([{ type: "Ready" }, { type: "Insecure", status: "False" }]);
});

test("its heartbeat is a Lease, and its status is written rarely", async () => {
  const clock = new FakeClock();
  const client = memoryClient({ clock, types: [NodeType] });
  const lease = { type: Lease, namespace: "kube-node-lease", name: testNode.name };
  await started(clock, client, async () => {
    await clock.advance(0);
    const { metadata } = await client.get(ref);
    await expect(client.get(lease)).rejects.toThrow("not found");
    for (const second of [10, 20, 30]) {
      await clock.advance(10_000);
      expect(await client.get(lease)).toMatchObject({
        spec: {
          holderIdentity: "test-node",
          leaseDurationSeconds: 40,
          renewTime: formatMicroTime(Date.UTC(2026, 0, 1, 0, 0, second)),
        },
      });
    }
    expect((await client.get(ref)).metadata.resourceVersion).toBe(metadata.resourceVersion);
    for (let time = 0; time < 28; time++) await clock.advance(10_000);
    expect((await client.get(ref)).metadata.resourceVersion).not.toBe(metadata.resourceVersion);
  });
});

test("a runtime that is away makes the Node not ready, until it is back", async () => {
  const clock = new FakeClock();
  const client = memoryClient({ clock, types: [NodeType] });
  let trouble: string | undefined;
  const ready = async () => (await client.get<NodeObject>(ref)).status?.conditions?.[0];
  await started(
    clock,
    client,
    async () => {
      await clock.advance(0);
      expect(await ready()).toMatchObject({ type: "Ready", status: "True" });
      trouble = "the engine is away";
      await clock.advance(10_000);
      expect(await ready()).toMatchObject({
        status: "False",
        reason: "KubeletNotReady",
        message: "the engine is away",
        lastTransitionTime: "2026-01-01T00:00:10Z",
      });
      trouble = undefined;
      await clock.advance(10_000);
      expect(await ready()).toMatchObject({ status: "True", lastTransitionTime: "2026-01-01T00:00:20Z" });
    },
    () => trouble,
  );
});
