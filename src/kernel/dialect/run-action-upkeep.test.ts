import { beforeEach, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { isNotFound, type KubeObject, keyOf, type Stored } from "#kernel/model/index.ts";
import { RunAction } from "./run-action.ts";
import { actionUpkeep } from "./run-action-upkeep.ts";

const hour = 3_600_000;
const signal = new AbortController().signal;

let clock: FakeClock;
let client: MemoryClient;
/** What the mirrors show, which may be behind or ahead of the API. */
let actions: Map<string, Stored<RunAction>>;
let workflows: Map<string, Stored>;

const Workflow = {
  group: "slipway.dev",
  version: "v1alpha1",
  kind: "Workflow",
  plural: "workflows",
  namespaced: true,
};
const Theirs = { ...Workflow, group: "tinkerbell.org" };

beforeEach(() => {
  clock = new FakeClock();
  client = memoryClient({ clock, types: [RunAction, Workflow] });
  actions = new Map();
  workflows = new Map();
});

const lister = <T extends KubeObject>(objects: ReadonlyMap<string, Stored<T>>) => ({
  get: (key: string) => objects.get(key),
  list: () => [...objects.values()],
  byIndex: () => [],
});

const ref = { type: RunAction, namespace: "default", name: "act" };

/** One pass; answers after how long the next one is due. */
async function look(): Promise<number | undefined> {
  const runs = [
    { type: Workflow, lister: lister(workflows) },
    { type: Theirs, lister: lister(new Map<string, Stored>()) },
  ];
  const upkeep = actionUpkeep({ client, clock, actions: lister(actions), runs });
  const context = { signal, log: silentLog, now: clock.now(), failures: 0 };
  const result = await upkeep.reconcile({ namespace: "default", name: "act" }, context);
  return result?.requeueAfter;
}

const show = (action: Stored<RunAction>) => void actions.set(keyOf(action.metadata), action);

async function ask(apiVersion = "slipway.dev/v1alpha1"): Promise<Stored<RunAction>> {
  const created = await client.create<RunAction>(RunAction, {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "RunAction",
    metadata: { name: "act", namespace: "default" },
    spec: { action: "cancel", target: { apiVersion, kind: "Workflow", name: "wf" } },
  });
  show(created);
  return created;
}

test("an action that is gone needs nothing", async () => {
  expect(await look()).toBeUndefined();
});

test("an action for a workflow that does not exist is refused after two seconds, not before", async () => {
  await ask();
  expect(await look()).toBe(2_000);
  expect((await client.get<RunAction>(ref)).status).toBeUndefined();
  await clock.advance(2_000);
  expect(await look()).toBe(hour);
  const { status } = await client.get<RunAction>(ref);
  expect(status).toMatchObject({
    phase: "Refused",
    message: 'there is no workflow "wf" in the namespace "default"',
  });
});

test("an action for a workflow that exists is that one's to answer", async () => {
  await ask();
  const workflow = await client.create(Workflow, {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: "wf", namespace: "default" },
  });
  workflows.set("default/wf", workflow);
  await clock.advance(hour);
  expect(await look()).toBeUndefined();
  expect((await client.get<RunAction>(ref)).status).toBeUndefined();
});

test("a run of one language is none of another that has its name", async () => {
  await ask("tinkerbell.org/v1alpha2");
  workflows.set(
    "default/wf",
    await client.create(Workflow, {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Workflow",
      metadata: { name: "wf", namespace: "default" },
    }),
  );
  await clock.advance(2_000);
  expect(await look()).toBe(hour);
  expect((await client.get<RunAction>(ref)).status).toMatchObject({ phase: "Refused" });
});

test.each(["Done", "Refused"] as const)(
  "an action that was answered %s is kept for an hour from then on",
  async (phase) => {
    const created = await ask();
    await clock.advance(10_000);
    const status = { phase, finishTime: new Date(clock.now()).toISOString() };
    show(await client.updateStatus<RunAction>(RunAction, { ...created, status }));
    await clock.advance(hour - 1_000);
    expect(await look()).toBe(1_000);
    await clock.advance(1_000);
    expect(await look()).toBeUndefined();
    await expect(client.get(ref)).rejects.toSatisfy(isNotFound);
  },
);

test("only that very action is deleted: one made again under its name stays", async () => {
  const former = await ask();
  await client.delete(ref);
  const again = await ask();
  show({ ...former, status: { phase: "Done", finishTime: new Date(clock.now() - 2 * hour).toISOString() } });
  expect(await look()).toBeUndefined();
  expect(await client.get(ref)).toEqual(again);
});
