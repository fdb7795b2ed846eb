import { expect, test } from "vitest";
import { FakeClock, formatTime } from "#lib/base/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { Node as NodeType } from "#kernel/model/index.ts";
import { bench, testNode } from "../testing/index.ts";
import { addNode, type MachineInfo, type NodeObject } from "./keep-node.ts";

const info: MachineInfo = {
  version: "1.2.3",
  runtime: "process",
  osImage: "Test OS",
  kernelVersion: "6.1",
  operatingSystem: "linux",
  architecture: "amd64",
};
const ref = { type: NodeType, name: testNode.name };

async function started(clock: FakeClock, client = memoryClient({ clock, types: [NodeType] })) {
  const place = bench({ clock, client });
  addNode(place.manager, testNode, info);
  place.start();
  await clock.advance(1000);
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
      nodeInfo: { kubeletVersion: "v1.33.0+slipway.1.2.3", containerRuntimeVersion: "process://1.2.3" },
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
