import { expect, test } from "vitest";
import type { Job } from "../objects.ts";
import { addWorkflow, byServer, byUser, storeFixture, type StoreFixture } from "./testing/store-fixture.ts";

async function machineWith(fixture: StoreFixture): Promise<string> {
  await addWorkflow(fixture.store);
  const { Uuid } = await fixture.store.create("machines", { Name: "m1.example.org", Workflow: "ww" }, byUser);
  fixture.eventTexts();
  return Uuid;
}

async function post({ store }: StoreFixture, Machine: string): Promise<{ code: number; job?: Job }> {
  return await store.postJob({ Machine, Context: "" }, { by: { kind: "runner", machine: Machine } });
}

async function patch({ store }: StoreFixture, job: Job | undefined, ...states: readonly string[]): Promise<void> {
  for (const State of states) await store.update("jobs", job?.Uuid ?? "", (now) => ({ ...now, State }), byServer);
}

test("15.3 the first POST makes the job of the first task, and the event of the job comes before that of its machine", async () => {
  await using fixture = await storeFixture();
  const uuid = await machineWith(fixture);
  const { code, job } = await post(fixture, uuid);
  expect(code).toBe(201);
  expect(job).toMatchObject({ Task: "ta", CurrentIndex: 2, NextIndex: 3, State: "created", Current: true });
  expect(fixture.eventTexts()).toEqual([`jobs.create ${job?.Uuid}`, `machines.update ${uuid}`]);
  expect(fixture.store.world.get("machines", uuid)).toMatchObject({ CurrentJob: job?.Uuid, CurrentTask: 2 });
  expect(fixture.store.world.get("jobs", job?.Uuid ?? "")).toEqual(job);
});

test("15.4 the second job follows the first, which is then no longer current", async () => {
  await using fixture = await storeFixture();
  const uuid = await machineWith(fixture);
  const { job: first } = await post(fixture, uuid);
  await expect(post(fixture, uuid)).rejects.toMatchObject({ body: { Code: 409, Type: "Conflict" } });
  await patch(fixture, first, "running", "finished");
  fixture.eventTexts();
  const { job: second } = await post(fixture, uuid);
  expect(second).toMatchObject({ Task: "tb", Previous: first?.Uuid });
  expect(fixture.store.world.get("jobs", first?.Uuid ?? "")).toMatchObject({ Current: false, State: "finished" });
  expect(fixture.eventTexts()).toEqual([
    `jobs.create ${second?.Uuid}`,
    `machines.update ${uuid}`,
    `jobs.save ${first?.Uuid}`,
  ]);
});
