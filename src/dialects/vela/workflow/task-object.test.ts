import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { asJson, type KubeObject } from "#kernel/model/index.ts";
import { createRig, step, taskType } from "./testing/rig.ts";

const output = { apiVersion: "demo.example.org/v1", kind: "Task", metadata: { name: "job" }, spec: { n: 1 } };
const ref = { type: taskType, namespace: "default", name: "job" };

/** A run with a step whose object is made anew for each run. */
const recreating = () =>
  createRig({
    steps: [step("a", "task")],
    templates: { task: { output } },
    around: (parts) => ({
      ...parts,
      definitions: {
        ...parts.definitions,
        find: async (...asked) => {
          const found = await parts.definitions.find(...asked);
          return found && { ...found, annotations: { "slipway.dev/task-object": "recreate" } };
        },
      },
    }),
  });

const present = (metadata: JsonObject): KubeObject => {
  const whole = { ...output.metadata, namespace: "default", ...metadata };
  return Object.assign({}, output, { metadata: whole, spec: { n: 0 } });
};

test("attack: an object of somebody else is not deleted to be made anew", async () => {
  const owners: readonly JsonObject[] = [
    {},
    { labels: { "app.oam.dev/name": "other", "app.oam.dev/namespace": "default" } },
    { ownerReferences: [{ apiVersion: "core.oam.dev/v1beta1", kind: "Application", name: "app", uid: "another" }] },
  ];
  for (const metadata of owners) {
    const rig = await recreating();
    const { metadata: before } = await rig.client.create(taskType, present(metadata));
    await rig.pass();
    expect(rig.step("a")).toMatchObject({
      reason: "Execute",
      message: "Task default/job exists and is not of Application default/app, so it is not deleted",
    });
    expect((await rig.client.get(ref)).metadata.uid).toBe(before.uid);
  }
});

test("an object of the application is deleted and made anew", async () => {
  const rig = await recreating();
  const labels = { "app.oam.dev/name": "app", "app.oam.dev/namespace": "default" };
  const { metadata } = await rig.client.create(taskType, present({ labels }));
  await rig.pass();
  const made = await rig.client.get(ref);
  expect(made.metadata.uid).not.toBe(metadata.uid);
  expect(asJson(made)["spec"]).toEqual({ n: 1 });
  expect(rig.phases()).toEqual({ a: "running/Wait" });
});
