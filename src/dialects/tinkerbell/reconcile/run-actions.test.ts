import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isNotFound } from "#kernel/model/index.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { judgeEvent } from "../events.ts";
import { WorkflowV2 } from "../kinds.ts";
import { type AnyWorkflow, refOf, stateOf } from "../stored.ts";
import { Harness, namespace, planOf } from "../testing/harness.ts";
import { settings } from "../testing/states.ts";
import { dispatch } from "../transitions.ts";

let here = new Harness();
beforeEach(async () => {
  here = new Harness();
  await here.template(planOf(["one", "two"]));
});
afterEach(() => here.close());

const taker = { agentID: "agent-a", protocol: "stream" } as const;
const scheduled = () => here.change((state) => dispatch(state, taker, here.clock.now(), settings).state);
const tell = (is: "started" | "succeeded" | "failed", at: number) =>
  here.change((state) => {
    const context = { now: here.clock.now(), settings, protocol: "stream", hasPostSteps: false, seed: "uid" } as const;
    const id = state.actions[at]?.id ?? "";
    const event = is === "failed" ? { is, action: id, reason: "No", message: "no" } : { is, action: id };
    return judgeEvent(state, event, context).state ?? state;
  });

describe("cancel", () => {
  test("of a workflow that waits is its end, by whoever asked", async () => {
    await here.workflow();
    expect(await here.ask({ action: "cancel" })).toMatchObject({ phase: "Done" });
    expect(await here.status()).toMatchObject({
      state: "CANCELED",
      failureReason: "Canceled",
      failureMessage: "canceled by User",
    });
    expect(await here.ask({ action: "cancel" })).toMatchObject({ phase: "Done", message: "the workflow was canceled" });
  });

  test("of one that an agent carries out tells the agent to stop", async () => {
    await here.workflow();
    await scheduled();
    await tell("started", 0);
    const metadata = { annotations: { "slipway.dev/client": "CLI" } };
    expect(await here.ask({ action: "cancel" }, metadata)).toMatchObject({ phase: "Done" });
    expect(await here.status()).toMatchObject({ state: "CANCELLING", cancel: { by: "CLI" } });
    expect(await here.ask({ action: "cancel" })).toMatchObject({
      phase: "Done",
      message: expect.stringMatching(/being canceled/),
    });
    await here.pass(settings.cancellingTimeout);
    expect(await here.status()).toMatchObject({ state: "CANCELED", failureReason: "CancelTimeout" });
  });

  test("of one that is not prepared is its end, also when its template comes afterwards", async () => {
    await here.workflow({ templateRef: "later" });
    const metadata = { annotations: { "slipway.dev/client": "CLI" } };
    expect(await here.ask({ action: "cancel" }, metadata)).toMatchObject({
      phase: "Done",
      message: "canceled",
    });
    await here.template(planOf(["one"]), "later");
    const ended = await here.status();
    expect(ended).toMatchObject({ state: "CANCELED", failureReason: "Canceled", failureMessage: "canceled by CLI" });
    expect(ended["conditions"]).toMatchObject([
      { type: "TemplateRenderedSuccess", message: "template not found" },
      { type: "Succeeded", status: "False", message: "canceled by CLI" },
    ]);
    expect(await here.ask({ action: "retry", fromFailed: true })).toMatchObject({ createdRun: "w-retry-1" });
    expect((await here.read("w-retry-1"))?.status).toMatchObject({ state: "PENDING" });
  });

  test("of one with tasks, which is not carried out, is its end", async () => {
    const apiVersion = "tinkerbell.org/v1alpha2";
    await here.store.create<AnyWorkflow>(WorkflowV2, {
      apiVersion,
      kind: "Workflow",
      metadata: { namespace, name: "w" },
      spec: { tasks: [] },
    });
    await here.settle();
    expect(await here.ask({ action: "cancel" })).toMatchObject({ phase: "Done" });
    expect(await here.status()).toMatchObject({ shape: "C", state: "Canceled" });
  });

  test("of one that has ended is refused with what is possible", async () => {
    await here.template(planOf(["one"]), "short");
    await here.workflow({ templateRef: "short" });
    await scheduled();
    for (const is of ["started", "succeeded"] as const) await tell(is, 0);
    expect(await here.ask({ action: "cancel" })).toMatchObject({
      phase: "Refused",
      message: "the workflow is Succeeded; only retry is possible",
    });
  });

  test("is only for the workflow that was meant, and for none that is being deleted", async () => {
    await here.workflow({ templateRef: "t" }, { finalizers: ["x/y"] });
    const { name, ...target } = { apiVersion: "tinkerbell.org/v1alpha1", kind: "Workflow", name: "w", uid: "other" };
    const action = await here.store.create<RunAction>(RunAction, {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "RunAction",
      metadata: { namespace, name: "a" },
      spec: { action: "cancel", target: { ...target, name } },
    });
    await here.settle();
    const { status } = await here.store.get<RunAction>({ type: RunAction, namespace, name: action.metadata.name });
    expect(status).toMatchObject({
      phase: "Refused",
      message: expect.stringMatching(/^the workflow of uid other is gone/),
    });
    await here.delete();
    expect(await here.ask({ action: "cancel" })).toMatchObject({
      phase: "Refused",
      message: expect.stringMatching(/being deleted/),
    });
  });

  test("comes after what was due before it", async () => {
    await here.workflow();
    await scheduled();
    await here.clock.advance(settings.scheduledTimeout - 1);
    // Both in one look of the controller.
    const asked = here.ask({ action: "cancel" });
    await here.pass(10);
    expect((await asked)?.phase).toBe("Done");
    expect(await here.status()).toMatchObject({ state: "CANCELLING" });
  });
});

describe("retry", () => {
  const failed = async (at: number) => {
    await scheduled();
    for (let index = 0; index < at; index++) for (const is of ["started", "succeeded"] as const) await tell(is, index);
    await tell("started", at);
    await tell("failed", at);
  };
  const namesIn = async (name: string) =>
    stateOf((await here.read(name)) as AnyWorkflow).actions.map((one) => one.name);

  test("is a new workflow, which begins anew", async () => {
    await here.workflow({ templateRef: "t", hardwareMap: { a: "b" } }, { labels: { rack: "7" } });
    expect(await here.ask({ action: "retry" })).toMatchObject({
      phase: "Refused",
      message: "the workflow is Pending; only a finished one can be retried",
    });
    await failed(1);
    expect(await here.ask({ action: "retry" })).toMatchObject({
      phase: "Done",
      message: "w-retry-1 was created",
      createdRun: "w-retry-1",
    });
    const retried = await here.read("w-retry-1");
    expect(retried).toMatchObject({
      metadata: { labels: { rack: "7" }, annotations: { "slipway.dev/retry-of": "w" } },
      spec: { templateRef: "t", hardwareMap: { a: "b" } },
      status: { state: "PENDING" },
    });
    expect(await namesIn("w-retry-1")).toEqual(["one", "two"]);
    expect(await here.status()).toMatchObject({ state: "FAILED" });
  });

  test("takes the next free number, also of a retry", async () => {
    await here.workflow();
    await here.ask({ action: "cancel" });
    expect(await here.ask({ action: "retry" })).toMatchObject({ createdRun: "w-retry-1" });
    expect(await here.ask({ action: "retry" })).toMatchObject({ createdRun: "w-retry-2" });
    expect(await here.ask({ action: "cancel" }, {}, "w-retry-1")).toMatchObject({ phase: "Done" });
    expect(await here.ask({ action: "retry" }, {}, "w-retry-1")).toMatchObject({ createdRun: "w-retry-3" });
  });

  test("from what failed leaves out what has succeeded", async () => {
    await here.workflow();
    await failed(1);
    expect(await here.ask({ action: "retry", fromFailed: true })).toMatchObject({ createdRun: "w-retry-1" });
    expect(await namesIn("w-retry-1")).toEqual(["two"]);
    expect(await here.read("w-retry-1")).toMatchObject({
      metadata: { annotations: { "slipway.dev/begin-with": "task/two" } },
      status: { state: "PENDING", agentID: "agent-a" },
    });
    // Anew from there is anew from the beginning.
    expect(await here.ask({ action: "cancel" }, {}, "w-retry-1")).toMatchObject({ phase: "Done" });
    expect(await here.ask({ action: "retry" }, {}, "w-retry-1")).toMatchObject({ createdRun: "w-retry-2" });
    expect(await namesIn("w-retry-2")).toEqual(["one", "two"]);
  });

  test("from what failed of a template that has no such action any more is told of", async () => {
    await here.workflow({ templateRef: "t" }, { annotations: { "slipway.dev/begin-with": "task/gone" } });
    expect(await here.status()).toMatchObject({
      conditions: [{ status: "False", message: 'slipway.dev/begin-with: the template has no action "task/gone"' }],
    });
  });

  test("from what failed where nothing has is refused", async () => {
    await here.workflow();
    await scheduled();
    for (const at of [0, 1]) for (const is of ["started", "succeeded"] as const) await tell(is, at);
    expect(await here.ask({ action: "retry", fromFailed: true })).toMatchObject({ phase: "Refused" });
    expect(await here.ask({ action: "retry" })).toMatchObject({ createdRun: "w-retry-1" });
  });

  test("of a command whose answer was lost creates nothing again", async () => {
    await here.workflow();
    await here.ask({ action: "cancel" });
    const { items } = await here.store.list<RunAction>(RunAction, { namespace });
    await here.ask({ action: "retry" });
    const [command] = (await here.store.list<RunAction>(RunAction, { namespace })).items.filter(
      ({ metadata }) => !items.some((before) => before.metadata.name === metadata.name),
    );
    if (command === undefined) throw new Error("no command");
    await here.store.updateStatus<RunAction>(RunAction, { ...command, status: {} });
    await here.settle();
    const answered = await here.store.get<RunAction>({ type: RunAction, namespace, name: command.metadata.name });
    expect(answered.status).toMatchObject({ phase: "Done", createdRun: "w-retry-1" });
    await expect(here.store.get(refOf(namespace, "w-retry-2"))).rejects.toSatisfy(isNotFound);
  });

  test("of a workflow of v1alpha2 is written in its version", async () => {
    await here.templateV2({ actions: [{ name: "a", image: "i" }] }, "b");
    await here.hardware({ agentID: "agent-a" });
    await here.workflow({ templateRef: { name: "b" }, hardwareRef: { name: "hw" }, timeout: 7 });
    await here.ask({ action: "cancel" });
    expect(await here.ask({ action: "retry", fromFailed: true })).toMatchObject({ createdRun: "w-retry-1" });
    const retried = await here.store.get({ type: WorkflowV2, namespace, name: "w-retry-1" });
    expect(retried).toMatchObject({
      metadata: { annotations: { "slipway.dev/begin-with": "a" } },
      spec: { templateRef: { name: "b" }, timeout: 7 },
    });
  });
});

test("what the language has no word for is refused, where nobody has refused it before", async () => {
  await here.workflow();
  expect(await here.ask({ action: "suspend" })).toMatchObject({
    phase: "Refused",
    message: "expected cancel or retry: workflows of agents know no suspend",
  });
});
