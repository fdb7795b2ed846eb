import { expect, test, vi } from "vitest";
import { deepFreeze, FakeClock, type JsonObject } from "#lib/base/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { isConflict, isNotFound, staleRevision } from "#kernel/model/index.ts";
import { Workflow, WorkflowV2 } from "./kinds.ts";
import { finalizer } from "./messages.ts";
import { type AnyWorkflow, changeWorkflow, refOf, stateOf, statusOf, storeHeld } from "./stored.ts";
import { begin, pending, settings } from "./testing/states.ts";
import { dispatch } from "./transitions.ts";

const taker = { agentID: "agent-a", protocol: "stream" } as const;
const ref = refOf("default", "w");

const workflow = (spec: JsonObject): AnyWorkflow => ({
  apiVersion: "tinkerbell.org/v1alpha1",
  kind: "Workflow",
  metadata: { namespace: "default", name: "w" },
  spec,
});

const place = () => {
  const clock = new FakeClock(begin);
  return { clock, client: memoryClient({ clock, types: [Workflow, WorkflowV2] }) };
};

/** What a promise comes to while time goes on. */
async function driven<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  const settled = { is: false };
  const watched = promise.finally(() => (settled.is = true));
  while (!settled.is) {
    await new Promise(setImmediate);
    await clock.advance(100);
  }
  return await watched;
}

test("a state is stored in the words of the document's shape and read back", async () => {
  const { client, clock } = place();
  await client.create(Workflow, workflow({ templateRef: "t" }));
  const { workflow: stored } = await changeWorkflow({ client, clock }, ref, () => ({ state: pending(), answer: 0 }));
  expect(stored.status).toMatchObject({ state: "PENDING", agentID: "agent-a", shape: "A" });
  expect(stateOf(stored)).toEqual(pending());
});

test("what somebody else has written meanwhile is decided upon anew", async () => {
  const { client, clock } = place();
  await client.create(Workflow, workflow({ templateRef: "t" }));
  await changeWorkflow({ client, clock }, ref, () => ({ state: pending(), answer: 0 }));
  vi.spyOn(client, "updateStatus").mockRejectedValueOnce(staleRevision(Workflow, "w"));
  const decided: string[] = [];
  const changed = changeWorkflow({ client, clock }, ref, (state, _workflow, now) => {
    decided.push(state.phase);
    return { state: dispatch(state, taker, now, settings).state, answer: "told" };
  });
  expect((await driven(clock, changed)).answer).toBe("told");
  expect(decided).toEqual(["Pending", "Pending"]);
});

test("a conflict that does not end is thrown, and a workflow that is gone is not found", async () => {
  const { client, clock } = place();
  const missing = await changeWorkflow({ client, clock }, ref, () => ({ answer: 0 })).catch(
    (thrown: unknown) => thrown,
  );
  expect(isNotFound(missing)).toBe(true);
  await client.create(Workflow, workflow({ templateRef: "t" }));
  vi.spyOn(client, "updateStatus").mockRejectedValue(staleRevision(Workflow, "w"));
  const lost = changeWorkflow({ client, clock }, ref, () => ({ state: pending(), answer: 0 })).catch(
    (thrown: unknown) => thrown,
  );
  expect(isConflict(await driven(clock, lost))).toBe(true);
});

test("a stored version is decoded once for all who look at it, and what may still change each time", async () => {
  const { client, clock } = place();
  await client.create(Workflow, workflow({ templateRef: "t" }));
  const { workflow: stored } = await changeWorkflow({ client, clock }, ref, () => ({ state: pending(), answer: 0 }));
  const frozen = deepFreeze({ ...stored });
  expect(stateOf(frozen)).toBe(stateOf(frozen));
  const own: AnyWorkflow & { status?: JsonObject } = { ...stored };
  expect(stateOf(own).phase).toBe("Pending");
  own.status = { ...stored.status, state: "CANCELLING" };
  expect(stateOf(own).phase).toBe("Cancelling");
});

test("what is held from now on is held before its status is stored, or together with it", async () => {
  const { client, clock } = place();
  const created = await client.create(Workflow, workflow({ templateRef: "t" }));
  const status = statusOf(created, pending(), clock.now());
  const failing = vi.spyOn(client, "updateStatus").mockRejectedValueOnce(new Error("the server ends here"));
  await expect(storeHeld(client, created, status)).rejects.toThrow("the server ends here");
  const held = await client.get<AnyWorkflow>(ref);
  expect(held).toMatchObject({ metadata: { finalizers: [finalizer] } });
  expect(await storeHeld(client, held, status)).toMatchObject({ status, metadata: { finalizers: [finalizer] } });
  expect(failing).toHaveBeenCalledTimes(2);
  const updateWhole = vi.fn().mockImplementation((_type: unknown, object: unknown) => Promise.resolve(object));
  const whole = Object.assign(Object.create(client) as typeof client, { updateWhole });
  expect(await storeHeld(whole, created, status)).toMatchObject({ status, metadata: { finalizers: [finalizer] } });
  expect(failing).toHaveBeenCalledTimes(2);
});

test("a workflow of v1alpha2 is held in its own version: the other one refuses it on a cluster", async () => {
  const { client, clock } = place();
  const created = await client.create(Workflow, workflow({ templateRef: { name: "t" } }));
  const patch = vi.spyOn(client, "patch");
  await storeHeld(client, created, statusOf(created, pending(), clock.now()));
  expect(patch.mock.calls.map(([{ type }]) => type.version)).toEqual(["v1alpha2"]);
});
