import { expect, test } from "vitest";
import { Job as JobKind } from "../kinds.ts";
import { asJson } from "../model/read.ts";
import { type Job, zeroUuid } from "../objects.ts";
import type { OpenStore } from "./open-store.ts";
import { type Fault, faultyClient } from "./testing/faulty-client.ts";
import { addWorkflow, byServer, byUser, openOver, rebarMemory } from "./testing/store-fixture.ts";

interface Heard {
  readonly created: Set<string>;
  readonly finished: Set<string>;
}

const set = (store: OpenStore, job: Job, State: string): Promise<Job> =>
  store.update("jobs", job.Uuid, (now) => ({ ...asJson(now), State }), byServer);

/** What an agent does, from its start to the end of the list. */
async function runAgent(store: OpenStore, Machine: string, heard: Heard): Promise<void> {
  const left = store.world.get("jobs", store.world.get("machines", Machine)?.CurrentJob ?? "");
  if (left?.State === "created" || left?.State === "running") await set(store, left, "failed");
  for (let asked = 0; asked < 50; asked++) {
    await store.update("machines", Machine, (now) => ({ ...asJson(now), Runnable: true }), byServer);
    const { job } = await store.postJob({ Machine, Context: "" }, byServer);
    if (job === undefined) {
      if (store.world.get("machines", Machine)?.WorkflowComplete === true) return;
      continue;
    }
    heard.created.add(job.Uuid);
    await set(store, job, "running");
    await set(store, job, "finished");
    heard.finished.add(job.Uuid);
  }
  throw new Error("the list did not end");
}

function expectSound({ world }: OpenStore, machine: string, heard: Heard): void {
  const jobs = world.all("jobs");
  const { CurrentJob = "" } = world.get("machines", machine) ?? {};
  const current = jobs.filter((job) => job.Current).map(({ Uuid }) => Uuid);
  expect(current).toEqual(CurrentJob === "" ? [] : [CurrentJob]);
  const chain = new Set<string>();
  for (let key = CurrentJob; key !== "" && key !== zeroUuid; key = world.get("jobs", key)?.Previous ?? "") {
    chain.add(key);
    expect(world.get("jobs", key)).toBeDefined();
  }
  expect([...chain].toSorted()).toEqual(jobs.map(({ Uuid }) => Uuid));
  for (const uuid of heard.created) expect(chain).toContain(uuid);
  for (const uuid of heard.finished) expect(world.get("jobs", uuid)?.State).toBe("finished");
}

async function prepared() {
  const memory = rebarMemory();
  const first = await openOver(memory);
  await addWorkflow(first);
  const { Uuid } = await first.create("machines", { Name: "m1", Workflow: "ww", Stage: "none" }, byUser);
  await first.close();
  return { memory, machine: Uuid };
}

async function diesAt(at: number, fault: Fault): Promise<boolean> {
  const { memory, machine } = await prepared();
  const heard: Heard = { created: new Set(), finished: new Set() };
  const dying = faultyClient(memory, at, fault);
  const stop = new AbortController();
  const isDead = await openOver(dying.client, { signal: stop.signal })
    .then((store) => runAgent(store, machine, heard).then(() => store.close()))
    .then(
      () => false,
      () => true,
    );
  stop.abort();
  const store = await openOver(memory);
  expectSound(store, machine, heard);
  await runAgent(store, machine, heard);
  expectSound(store, machine, heard);
  const finished = store.world.all("jobs").filter(({ State, Task }) => State === "finished" && !Task.includes(":"));
  expect(finished.map(({ Task }) => Task).toSorted()).toEqual(["ta", "tb", "tc"]);
  await store.close();
  const { items } = await memory.list(JobKind, { namespace: "rebar" });
  const objects = items.map(({ spec }) => spec as { readonly Uuid: string; readonly Current: boolean });
  expect(objects.map(({ Uuid }) => Uuid).toSorted()).toEqual(store.world.all("jobs").map(({ Uuid }) => Uuid));
  expect(objects.filter(({ Current }) => Current)).toHaveLength(1);
  return isDead;
}

test.each(["before", "after"] as const)(
  "15.35 a server that dies %s any write loses no job, repeats none and leaves one current job",
  async (fault) => {
    let at = 1;
    while (await diesAt(at, fault)) at++;
    expect(at).toBeGreaterThan(12);
  },
);

test("a machine's jobs stay readable when it is deleted, wherever the deletion is cut off", async () => {
  for (let at = 1; at <= 4; at++) {
    const { memory, machine } = await prepared();
    const store = await openOver(memory);
    const { job } = await store.postJob({ Machine: machine, Context: "" }, byServer);
    if (job === undefined) throw new Error("there was no job");
    await set(store, job, "failed");
    await store.close();
    const dying = await openOver(faultyClient(memory, at, "before").client);
    await dying.remove("machines", machine, byUser).catch(() => undefined);
    const again = await openOver(memory);
    expect(again.world.get("jobs", job.Uuid)).toMatchObject({ State: "failed" });
    if (again.world.get("machines", machine) !== undefined) await again.remove("machines", machine, byUser);
    expect(again.world.get("jobs", job.Uuid)).toMatchObject({ State: "failed", Current: false });
    await again.remove("jobs", job.Uuid, byUser);
    expect(again.world.all("jobs")).toEqual([]);
    await again.close();
  }
});
