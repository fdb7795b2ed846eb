import { expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { Pod, Secret } from "#kernel/model/index.ts";
import { serverCloses } from "./contexts-controller.ts";
import { KubernetesContexts } from "./kubernetes-engine.ts";

const agent = {
  key: "rebar-0123",
  machine: "u-1",
  machineName: "m1",
  context: "x",
  engine: "kubernetes",
  image: "runner:1",
  isExternal: true,
};

function scene() {
  const client = memoryClient();
  const unused = () => {
    throw new Error("an agent of an image needs none");
  };
  const access = { connect: unused, token: () => "secret", endpoints: ["https://10.0.0.1:8092"] };
  const parts = { streams: unused, namespace: "default", access, clock: systemClock, log: silentLog };
  const engine = new KubernetesContexts({ client, ...parts });
  const pods = async () => (await client.list(Pod, { namespace: "default" })).items;
  const secrets = async () => (await client.list(Secret, { namespace: "default" })).items;
  const tellPhase = async (phase: string) => {
    const [pod] = await pods();
    if (pod !== undefined) await client.updateStatus(Pod, { ...pod, status: { phase } });
  };
  return { engine, pods, secrets, tellPhase };
}

test("8 an image's agent runs in a Pod that gets its variables from a Secret, and both go with it", async () => {
  const { engine, pods, secrets, tellPhase } = scene();
  const ended = engine.run(agent, new AbortController().signal);
  await expect.poll(async () => (await pods()).length).toBe(1);
  const [pod] = await pods();
  expect(pod).toMatchObject({
    metadata: { name: "rebar-0123" },
    spec: {
      containers: [{ image: "runner:1", envFrom: [{ secretRef: { name: "rebar-0123" } }] }],
      restartPolicy: "Never",
      automountServiceAccountToken: false,
    },
  });
  expect(JSON.stringify(pod)).not.toContain('secret"');
  const [secret] = await secrets();
  expect(secret).toMatchObject({
    stringData: { RS_UUID: "u-1", RS_TOKEN: "secret", RS_CONTEXT: "x", RS_ENDPOINTS: "https://10.0.0.1:8092" },
  });
  await tellPhase("Running");
  await tellPhase("Succeeded");
  await ended;
  expect([await pods(), await secrets()]).toEqual([[], []]);
});

test("8 an image's agent continues when the server closes, is adopted by the next one and ends with its context", async () => {
  const { engine, pods, tellPhase } = scene();
  const closing = new AbortController();
  const first = engine.run(agent, closing.signal).catch(() => undefined);
  await expect.poll(async () => (await pods()).length).toBe(1);
  await tellPhase("Running");
  closing.abort(serverCloses);
  await first;
  const [left] = await pods();
  await engine.sweep(new Set([agent.key]));
  const changed = new AbortController();
  const second = engine.run(agent, changed.signal).catch(() => undefined);
  await expect.poll(async () => (await pods()).length).toBe(1);
  expect((await pods())[0]?.metadata.uid).toBe(left?.metadata.uid);
  changed.abort();
  await second;
  expect(await pods()).toEqual([]);
});

test("8 Pods of agents that are wanted no more are removed at the start", async () => {
  const { engine, pods } = scene();
  const closing = new AbortController();
  const first = engine.run(agent, closing.signal).catch(() => undefined);
  await expect.poll(async () => (await pods()).length).toBe(1);
  closing.abort(serverCloses);
  await first;
  await engine.sweep(new Set());
  expect(await pods()).toEqual([]);
});
