import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import { admission } from "../admission.ts";
import { Machine, Task } from "../kinds.ts";
import { addWorkflow, byUser, openOver, storeFixture, type StoreFixture } from "./testing/store-fixture.ts";

const uuid = "24679e38-b6d4-4c1b-8a8e-2b1d9ac0d0cc";
const ref = { type: Machine, namespace: "rebar", name: uuid };

async function withMachine(fixture: StoreFixture): Promise<void> {
  await addWorkflow(fixture.store);
  await fixture.store.create("machines", { Uuid: uuid, Name: "m1" }, byUser);
}

const nextEvent = ({ store }: StoreFixture, text: string): Promise<void> =>
  new Promise((resolve) => {
    const stop = store.listen(({ Type, Action, Key }) => {
      if (`${Type}.${Action} ${Key}` !== text) return;
      stop();
      resolve();
    });
  });

test("15.37 a patch of the Workflow through the Kubernetes API has the effects of a change over the API", async () => {
  await using fixture = await storeFixture();
  await withMachine(fixture);
  const changed = nextEvent(fixture, `machines.update ${uuid}`);
  await fixture.client.patch(ref, { type: "merge", body: { spec: { Workflow: "ww" } } });
  await changed;
  const wanted = { Workflow: "ww", Stage: "s1", BootEnv: "e1", CurrentTask: -1, Runnable: false };
  expect(fixture.store.world.get("machines", uuid)).toMatchObject(wanted);
  expect((await fixture.client.get(ref)).spec).toMatchObject({
    ...wanted,
    Tasks: expect.arrayContaining(["stage:s2"]),
  });
});

test("15.37 a direct edit that the rules refuse is undone", async () => {
  await using fixture = await storeFixture();
  await withMachine(fixture);
  await fixture.client.patch(ref, { type: "merge", body: { spec: { Workflow: "none-such" } } });
  // The next change finds the machine as it was.
  await fixture.store.update("machines", uuid, (now) => ({ ...now, Description: "later" }), byUser);
  expect((await fixture.client.get(ref)).spec).toMatchObject({ Workflow: "", Stage: "none", Description: "later" });
});

test("15.37 an object created through the Kubernetes API is completed, and shown from then on", async () => {
  await using fixture = await storeFixture();
  const created = nextEvent(fixture, "tasks.create mine");
  const metadata = { name: "mine", namespace: "rebar" };
  await fixture.client.create(Task, { apiVersion: apiVersionOf(Task), kind: "Task", metadata, spec: { Name: "mine" } });
  await created;
  expect(fixture.store.world.get("tasks", "mine")).toMatchObject({ Available: true, Templates: [] });
});

const machines = admission.find(({ kind }) => kind === "Machine");
const stored: JsonObject = {
  metadata: { name: uuid, namespace: "rebar" },
  spec: { Uuid: uuid, Workflow: "", currentJobRecord: { Uuid: "j" } },
  status: { available: true, writes: 3 },
};

test("15.37 an edit is stored with what was before it, and changes neither status nor the job's record", () => {
  const edit = { ...stored, spec: { Uuid: uuid, Workflow: "ww", currentJobRecord: {} }, status: {} };
  const prepared = machines?.prepareForUpdate?.(edit, stored);
  expect(prepared).toMatchObject({
    spec: { Workflow: "ww", currentJobRecord: { Uuid: "j" } },
    status: { available: true, writes: 3, before: { Workflow: "" } },
  });
  const second = machines?.prepareForUpdate?.({ ...prepared, spec: { Uuid: uuid, Workflow: "xx" } }, prepared ?? {});
  expect(second).toMatchObject({ spec: { Workflow: "xx" }, status: { before: { Workflow: "" } } });
  expect(machines?.validate({ ...edit, spec: { Uuid: "other" } }, stored).causes).toHaveLength(1);
});

test("15.37 an edit whose effects a crash has prevented has them after the next start", async () => {
  await using fixture = await storeFixture();
  await withMachine(fixture);
  await fixture.store.close();
  const now = await fixture.client.get(ref);
  const edited = { ...now, spec: { ...(now.spec as JsonObject), Workflow: "ww" } };
  const admitted = machines?.prepareForUpdate?.(edited as unknown as JsonObject, now as unknown as JsonObject);
  await fixture.client.update(Machine, admitted as unknown as typeof now);
  const again = await openOver(fixture.client);
  expect(again.world.get("machines", uuid)).toMatchObject({ Workflow: "ww", Stage: "s1", CurrentTask: -1 });
  await again.close();
});
