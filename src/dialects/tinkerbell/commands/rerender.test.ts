import { afterEach, beforeEach, expect, test } from "vitest";
import { isJsonObject } from "#lib/base/index.ts";
import type { AnyTemplate } from "../reconcile/inputs.ts";
import { Hardware, Template, Workflow } from "../kinds.ts";
import { rerenderAnnotation } from "../messages.ts";
import { rerender } from "./rerender.ts";
import { Harness, namespace, planOf } from "../testing/harness.ts";
import { settings } from "../testing/states.ts";
import { dispatch, reject, startAction } from "../transitions.ts";

let here = new Harness();
beforeEach(() => {
  here = new Harness();
});
afterEach(() => here.close());

const taker = { agentID: "agent-a", protocol: "stream" } as const;

/** What the template says from now on. */
async function rewrite(data: string): Promise<void> {
  const template = await here.store.get<AnyTemplate>({ type: Template, namespace, name: "t" });
  await here.store.update<AnyTemplate>(Template, { ...template, spec: { data } });
  await here.settle();
}

/** Asks, and lets the controller answer. */
async function ask(value: string) {
  const { signal } = new AbortController();
  const answer = rerender(here.store, { namespace, name: "w" }, { clock: here.clock, signal, value });
  answer.catch(() => undefined); // Looked at below.
  await here.settle();
  return await answer;
}

const names = async () => (await here.state()).actions.map(({ name }) => name);
const condition = async (type: string) => {
  const { conditions } = await here.status();
  return Array.isArray(conditions) ? conditions.find((one) => isJsonObject(one) && one["type"] === type) : undefined;
};

test("a workflow that waits is rendered anew with its template as it is now, once for each time it is asked", async () => {
  await here.template(planOf(["one"]));
  await here.workflow();
  await rewrite(JSON.stringify(planOf(["two", "three"], { globalTimeout: 9 })));
  expect(await names()).toEqual(["one"]);
  expect(await ask("1")).toEqual({ isDone: true, message: "" });
  expect(await names()).toEqual(["two", "three"]);
  expect(await here.status()).toMatchObject({ state: "PENDING", rerendered: "1", globalTimeout: 9 });
  const ids = (await here.state()).actions.map(({ id }) => id);
  await here.pass(600_000);
  expect((await here.state()).actions.map(({ id }) => id)).toEqual(ids);
});

test("what its own specification says is read anew as well, and is told of as ignored no more", async () => {
  await here.template(planOf(["one"]));
  await here.workflow();
  await here.template(planOf(["other"]), "u");
  await here.store.patch(
    { type: Workflow, namespace, name: "w" },
    { type: "merge", body: { spec: { templateRef: "u" } } },
  );
  await here.settle();
  expect(await names()).toEqual(["one"]);
  await ask("1");
  expect(await names()).toEqual(["other"]);
});

test("a template that is wrong now leaves what was rendered before", async () => {
  await here.template(planOf(["one"]));
  await here.workflow();
  await rewrite("fail: no");
  expect(await ask("1")).toEqual({ isDone: false, message: "no" });
  expect(await names()).toEqual(["one"]);
  expect(await here.status()).toMatchObject({ state: "PENDING", templateRendering: "successful", rerendered: "1" });
  expect(await condition("Rerendered")).toMatchObject({ status: "False", reason: "Error", message: "no" });
  expect(await here.notices()).toContain("TemplateRenderFailed");
  await rewrite(JSON.stringify(planOf(["two"])));
  expect(await names()).toEqual(["one"]);
  expect(await ask("2")).toEqual({ isDone: true, message: "" });
  expect(await condition("Rerendered")).toMatchObject({ status: "True" });
  expect(await names()).toEqual(["two"]);
});

test("the agent that has refused it is waited for, another one is not", async () => {
  await here.template(planOf(["one"]));
  await here.workflow();
  const now = here.clock.now();
  await here.change((state) => dispatch(state, taker, now, settings).state);
  await here.change((state) => reject(state, { message: "busy" }, now, settings, "seed").state);
  await ask("1");
  expect((await here.state()).dispatch).toMatchObject({ rejections: 1, notBefore: expect.any(Number) });
  const [task] = planOf(["one"]).tasks;
  await rewrite(JSON.stringify(planOf([], { tasks: task === undefined ? [] : [{ ...task, worker: "agent-b" }] })));
  await ask("2");
  expect(await here.state()).toMatchObject({
    agentID: "agent-b",
    dispatch: { rejections: 0, attempt: 1, held: false },
  });
  expect((await here.state()).dispatch).not.toHaveProperty("notBefore");
});

test("a machine that has to boot from the network for it is allowed to again", async () => {
  await here.hardware({ interfaces: [{ netboot: { allowPXE: false } }] });
  await here.template(planOf(["one"]));
  await here.workflow({ templateRef: "t", hardwareRef: "hw", bootOptions: { toggleAllowNetboot: true } });
  const ref = { type: Hardware, namespace, name: "hw" };
  await here.store.patch(ref, { type: "merge", body: { spec: { interfaces: [{ netboot: { allowPXE: false } }] } } });
  expect(await ask("1")).toMatchObject({ isDone: true });
  await here.settle();
  expect(await here.store.get(ref)).toMatchObject({ spec: { interfaces: [{ netboot: { allowPXE: true } }] } });
  expect(await here.status()).toMatchObject({ state: "PENDING" });
});

test("what an agent was told of stays as it is, and whoever asks hears why", async () => {
  await here.template(planOf(["one"]));
  await here.workflow();
  await here.change((state) => dispatch(state, taker, here.clock.now(), settings).state);
  expect(await ask("1")).toEqual({
    isDone: false,
    message: "the workflow is Scheduled: only one that is Pending can be rendered anew",
  });
  // By the annotation alone, past the command.
  const body = { metadata: { annotations: { "slipway.dev/rerender": "2" } } };
  await here.store.patch({ type: Workflow, namespace, name: "w" }, { type: "merge", body });
  await here.settle();
  expect(await here.status()).toMatchObject({ rerendered: "2" });
  expect(await condition("Rerendered")).toMatchObject({ status: "False" });
  await here.change((state) => {
    const [first] = state.actions;
    return first === undefined ? state : startAction(state, first, here.clock.now()).state;
  });
  expect(await here.state()).toMatchObject({ phase: "Running" });
});

test("one that could not be rendered yet is tried again, and its answer does not outlive the reason", async () => {
  await here.workflow();
  expect(await ask("1")).toEqual({ isDone: false, message: "template not found" });
  await here.template(planOf(["one"]));
  expect(await here.status()).toMatchObject({ state: "PENDING" });
  expect(await condition("Rerendered")).toMatchObject({ status: "True" });
});

test("without a controller the question stays, and whoever asks is told so", async () => {
  await here.template(planOf(["one"]));
  await here.workflow();
  await here.close();
  const { signal } = new AbortController();
  const answer = rerender(here.store, { namespace, name: "w" }, { clock: here.clock, signal, value: "1" });
  answer.catch(() => undefined); // Looked at below.
  await here.pass(20_000);
  await expect(answer).rejects.toMatchObject({ code: "rerender-pending" });
});

test("a workflow waits for every address of its machine, and rendered anew for whoever its machine names by then", async () => {
  const [one, two] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
  await here.templateV2({ actions: [{ name: "one", image: "busybox" }] });
  await here.hardware({ networkInterfaces: { [one]: {}, [two]: {} } });
  await here.workflow({ templateRef: { name: "t" }, hardwareRef: { name: "hw" } });
  expect(await here.status()).toMatchObject({ state: "Pending", agentID: one, otherAgentIDs: [two] });
  const body = { spec: { agentID: "named" } };
  await here.store.patch({ type: Hardware, namespace, name: "hw" }, { type: "merge", body });
  const asked = { metadata: { annotations: { [rerenderAnnotation]: "1" } } };
  await here.store.patch({ type: Workflow, namespace, name: "w" }, { type: "merge", body: asked });
  await here.settle();
  expect(await here.status()).toMatchObject({ state: "Pending", agentID: "named", rerendered: "1" });
  expect(await here.status()).not.toHaveProperty("otherAgentIDs");
});
