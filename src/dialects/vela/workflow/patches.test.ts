import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { ConfigMap } from "#kernel/model/index.ts";
import { createRig, step } from "./testing/rig.ts";

const value = { type: "patch", component: "web", value: { spec: { replicas: 2 } } };
const templates = {
  patch: { actions: [{ path: "export", use: "op/export", value }] },
  patchThenWait: {
    actions: [
      { path: "export", use: "op/export", value },
      { path: "wait", use: "builtin/wait", value: {} },
    ],
  },
  hold: { actions: [{ path: "hold", use: "builtin/suspend", value: {} }] },
};

/** A run whose components get the patches in `applied`, in the order of passes. */
async function rigWith(...steps: readonly ReturnType<typeof step>[]) {
  const applied: JsonObject[] = [];
  const rig = await createRig({
    steps,
    templates,
    around: (parts) => ({
      ...parts,
      delivery: { ...parts.delivery, patchComponent: (component, patch) => void applied.push({ component, patch }) },
    }),
  });
  const forge = async (more: Readonly<Record<string, JsonObject>>) => {
    const ref = { type: ConfigMap, namespace: "default", name: "workflow-app-context" };
    const found = (await rig.store()).map["notes"];
    const notes = JSON.parse(typeof found === "string" ? found : "{}") as Record<string, JsonObject>;
    for (const [name, keys] of Object.entries(more)) notes[name] = { ...notes[name], ...keys };
    await rig.client.patch(ref, { type: "merge", body: { data: { notes: JSON.stringify(notes) } } });
  };
  return { ...rig, applied, forge };
}

const forged = { "patch export": { component: "web", value: { spec: { serviceAccountName: "admin" } } } };
const own = { component: "web", patch: { spec: { replicas: 2 } } };

test("a patch that a step exported counts in later passes", async () => {
  const rig = await rigWith(step("a", "patch"), step("b", "hold"));
  await rig.pass();
  await rig.pass();
  expect(rig.applied).toEqual([own, own]);
});

test("attack: the patch of a settled step that another client edits ends the run, and is not applied", async () => {
  const rig = await rigWith(step("a", "patch"), step("b", "hold"));
  await rig.pass();
  await rig.forge({ a: forged });
  await rig.pass();
  expect(rig.applied).toEqual([own]);
  expect(rig.state.status).toMatchObject({
    status: "failed",
    message: "the patches of step a were changed by another client; restart the workflow",
  });
});

test("attack: a patch in the name of a step that exported none is not applied, whatever the step's phase", async () => {
  const rig = await rigWith(step("a", "hold"), step("b", "patch"));
  await rig.pass();
  await rig.forge({ a: forged, b: forged });
  await rig.pass();
  rig.command({ kind: "resume" });
  await rig.run();
  expect(rig.applied).toEqual([own]);
  expect(rig.state.status).toMatchObject({ status: "succeeded" });
});

test("attack: the edited patch of a step that is executed again is replaced by what it exports", async () => {
  const rig = await rigWith(step("a", "patchThenWait"));
  await rig.pass();
  await rig.forge({ a: forged });
  await rig.clock.advance(60_000);
  await rig.pass();
  expect(rig.applied).toEqual([own, own]);
  expect(rig.phases()).toEqual({ a: "running/Wait" });
});
