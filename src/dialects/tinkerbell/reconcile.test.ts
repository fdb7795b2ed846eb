import { afterEach, beforeEach, expect, test } from "vitest";
import { isJsonObject } from "#lib/base/index.ts";
import { judgeEvent } from "./events.ts";
import type { AnyTemplate } from "./reconcile/inputs.ts";
import { Hardware, Template } from "./kinds.ts";
import { finalizer } from "./messages.ts";
import { refOf } from "./stored.ts";
import { Harness, namespace, planOf } from "./testing/harness.ts";
import { settings } from "./testing/states.ts";
import { dispatch } from "./transitions.ts";

let here = new Harness();
beforeEach(() => {
  here = new Harness();
});
afterEach(() => here.close());

const taker = { agentID: "agent-a", protocol: "stream" } as const;
const scheduled = () => here.change((state) => dispatch(state, taker, here.clock.now(), settings).state);
const tell = (is: "started" | "succeeded", at: number, hasPostSteps = false) =>
  here.change((state) => {
    const context = { now: here.clock.now(), settings, protocol: "stream", hasPostSteps, seed: "uid" } as const;
    const event = { is, action: state.actions[at]?.id ?? "" };
    return judgeEvent(state, event, context).state ?? state;
  });
const finalizers = async () => (await here.read())?.metadata.finalizers ?? [];
const condition = async (type: string) => {
  const { conditions } = await here.status();
  return Array.isArray(conditions) ? conditions.find((one) => isJsonObject(one) && one["type"] === type) : undefined;
};

test("a workflow is rendered, held by a finalizer, and waits for its agent", async () => {
  await here.template(planOf(["one", "two"], { globalTimeout: 60 }));
  await here.workflow();
  expect(await here.status()).toMatchObject({
    state: "PENDING",
    shape: "A",
    agentID: "agent-a",
    templateRendering: "successful",
    globalTimeout: 60,
    currentState: { actionName: "one", taskName: "task", state: "PENDING" },
    tasks: [
      {
        name: "task",
        agentID: "agent-a",
        volumes: ["/dev:/dev"],
        actions: [
          {
            name: "one",
            state: "PENDING",
            environment: { A: "task", B: "action" },
            volumes: ["/dev:/dev", "/tmp:/tmp"],
          },
          { name: "two", state: "PENDING" },
        ],
      },
    ],
  });
  expect(await condition("TemplateRenderedSuccess")).toMatchObject({ status: "True" });
  expect(await condition("Succeeded")).toMatchObject({ status: "Unknown" });
  expect(await finalizers()).toEqual([finalizer]);
  const ids = (await here.state()).actions.map(({ id }) => id);
  expect(new Set(ids).size).toBe(2);
  for (const id of ids) expect(id).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
});

test("a workflow whose template comes later is prepared when it comes", async () => {
  await here.workflow();
  expect(await here.status()).not.toHaveProperty("state");
  expect(await condition("TemplateRenderedSuccess")).toMatchObject({
    status: "False",
    reason: "Error",
    message: "template not found",
  });
  expect(await finalizers()).toEqual([]);
  await here.pass(3000);
  await here.template(planOf(["one"]));
  expect(await here.status()).toMatchObject({ state: "PENDING", templateRendering: "successful" });
});

test("a hardware that is missing is named, and waited for", async () => {
  await here.template(planOf(["one"]));
  await here.workflow({ templateRef: "t", hardwareRef: "hw" });
  expect(await condition("TemplateRenderedSuccess")).toMatchObject({ message: "hardware not found: hw" });
  await here.hardware({ interfaces: [] });
  expect(await here.status()).toMatchObject({ state: "PENDING" });
});

test("a template that cannot be rendered is told of once, and tried again when it changes", async () => {
  await here.template("fail: error rendering template: it is bad");
  await here.workflow();
  const { resourceVersion } = (await here.read())?.metadata ?? {};
  expect(await here.status()).toMatchObject({ templateRendering: "failed" });
  await here.pass(900_000);
  expect((await here.read())?.metadata.resourceVersion).toBe(resourceVersion);
  await here.store.patch(
    { type: Template, namespace, name: "t" },
    { type: "merge", body: { spec: { data: JSON.stringify(planOf(["one"])) } } },
  );
  await here.settle();
  expect(await here.status()).toMatchObject({ state: "PENDING", templateRendering: "successful" });
});

test("what was rendered stays, whatever becomes of the template", async () => {
  await here.template(planOf(["one"]));
  await here.workflow();
  await here.store.delete({ type: Template, namespace, name: "t" });
  await here.pass(900_000);
  expect((await here.state()).actions.map(({ name }) => name)).toEqual(["one"]);
});

test("a disabled workflow is not prepared before it is enabled", async () => {
  await here.template(planOf(["one"]));
  await here.hardware({ agentID: "agent-h" });
  await here.workflow({ templateRef: "t", hardwareRef: "hw", disabled: true });
  expect(await here.status()).toEqual({ agentID: "agent-h" });
  await here.store.patch(refOf(namespace, "w"), { type: "merge", body: { spec: { disabled: false } } });
  await here.settle();
  expect(await here.status()).toMatchObject({ state: "PENDING", agentID: "agent-a" });
});

test("a workflow that was never prepared is gone when it is deleted", async () => {
  await here.workflow();
  await here.delete();
  expect(await here.read()).toBeUndefined();
});

test("a pending workflow that is deleted is canceled and gone, unless a user holds it", async () => {
  await here.template(planOf(["one"]));
  await here.workflow({ templateRef: "t" }, { finalizers: ["example.com/keep"] });
  await here.delete();
  expect(await here.status()).toMatchObject({ state: "CANCELED", failureMessage: "canceled by Delete" });
  expect(await finalizers()).toEqual(["example.com/keep"]);
  await here.store.patch(refOf(namespace, "w"), { type: "merge", body: { metadata: { finalizers: null } } });
  expect(await here.read()).toBeUndefined();
});

test("a running workflow that is deleted is cancelled, and gone when its agent does not answer", async () => {
  await here.template(planOf(["one"]));
  await here.workflow();
  await scheduled();
  await tell("started", 0);
  await here.delete();
  expect(await here.status()).toMatchObject({ state: "CANCELLING", cancel: { by: "Delete" } });
  await here.pass(settings.cancellingTimeout - 1000);
  expect(await here.status()).toMatchObject({ state: "CANCELLING" });
  await here.pass(2000);
  expect(await here.read()).toBeUndefined();
});

test("a person may cancel by writing the state", async () => {
  await here.template(planOf(["one"]));
  await here.workflow();
  await scheduled();
  await here.store.patch(
    refOf(namespace, "w"),
    { type: "merge", body: { status: { state: "Cancelling" } } },
    { subresource: "status" },
  );
  await here.settle();
  expect(await here.status()).toMatchObject({ state: "CANCELLING", cancel: { by: "User" } });
  await here.pass(settings.cancellingTimeout + 1000);
  expect(await here.status()).toMatchObject({ state: "CANCELED", failureReason: "CancelTimeout" });
});

test.each(["SUCCESS", "RUNNING", "FAILED", ""])("a state that cannot be is undone: %j", async (state) => {
  await here.template(planOf(["one"]));
  await here.workflow();
  const body = { status: { state } };
  await here.store.patch(refOf(namespace, "w"), { type: "merge", body }, { subresource: "status" });
  await here.settle();
  expect(await here.status()).toMatchObject({ state: "PENDING" });
  expect(await here.notices()).toContain("IllegalStateWrite");
});

test("a specification that changes afterwards is told of once, and changes nothing", async () => {
  await here.template(planOf(["one"]));
  await here.workflow();
  await here.store.patch(refOf(namespace, "w"), { type: "merge", body: { spec: { templateRef: "other" } } });
  await here.settle();
  expect(await here.status()).toMatchObject({ state: "PENDING", observedGeneration: 2 });
  expect((await here.notices()).filter((reason) => reason === "SpecChangeIgnored")).toHaveLength(1);
});

test("an agent that does not begin has failed the workflow in time, which then holds nobody", async () => {
  await here.template(planOf(["one"]));
  await here.workflow();
  await scheduled();
  await here.pass(settings.scheduledTimeout);
  expect(await here.status()).toMatchObject({
    state: "FAILED",
    failureReason: "ScheduledTimeout",
    dispatch: { held: true },
  });
  expect(await finalizers()).toEqual([]);
  await here.pass(settings.cancellingTimeout);
  expect(await here.status()).toMatchObject({ state: "FAILED", dispatch: { held: false } });
  await here.delete();
  expect(await here.read()).toBeUndefined();
});

test("the end of the last action lets it go", async () => {
  await here.template(planOf(["one"]));
  await here.workflow();
  await scheduled();
  await tell("started", 0);
  await here.pass(3000);
  await tell("succeeded", 0);
  expect(await here.status()).toMatchObject({
    state: "SUCCESS",
    tasks: [{ actions: [{ state: "SUCCESS", executionDuration: "3s", attempts: 1 }] }],
  });
  expect(await condition("Succeeded")).toMatchObject({ status: "True" });
  expect(await finalizers()).toEqual([]);
});

test("a machine is allowed to boot from the network before its workflow, and not after it", async () => {
  const allowed = async () => {
    const { spec } = await here.store.get<{ readonly spec?: unknown } & typeof blank>({
      type: Hardware,
      namespace,
      name: "hw",
    });
    return JSON.stringify(spec);
  };
  const blank = { apiVersion: "", kind: "", metadata: {} };
  await here.template(planOf(["one"]));
  await here.hardware({ interfaces: [{ dhcp: { mac: "52:54:00:ab:cd:01" }, netboot: { allowPXE: false } }] });
  await here.workflow({ templateRef: "t", hardwareRef: "hw", bootOptions: { toggleAllowNetboot: true } });
  expect(await here.status()).toMatchObject({ state: "PENDING", bootOptions: { allowNetboot: { toggledTrue: true } } });
  expect(await allowed()).toContain('"allowPXE":true');
  await scheduled();
  await tell("started", 0);
  await tell("succeeded", 0, true);
  expect(await here.status()).toMatchObject({
    state: "SUCCESS",
    bootOptions: { allowNetboot: { toggledFalse: true } },
  });
  expect(await allowed()).toContain('"allowPXE":false');
});

test("boot options that cannot be carried out fail the workflow and say what is missing", async () => {
  await here.template(planOf(["one"]));
  await here.workflow({ templateRef: "t", bootOptions: { toggleAllowNetboot: true } });
  expect(await here.status()).toMatchObject({
    state: "FAILED",
    failureReason: "BootPreparationFailed",
    failureMessage: "spec.hardwareRef is missing, which spec.bootOptions.toggleAllowNetboot needs",
  });
});

test("the draft with tasks is stored, and says that nobody carries it out", async () => {
  await here.workflow({ tasks: [] });
  expect(await condition("Unsupported")).toMatchObject({ status: "True", reason: "TaskBased" });
  const { resourceVersion } = (await here.read())?.metadata ?? {};
  await here.pass(900_000);
  expect((await here.read())?.metadata.resourceVersion).toBe(resourceVersion);
});

test("a workflow of v1alpha2 is prepared for the agent of its machine, in the words of its version", async () => {
  await here.templateV2({
    env: { A: "all", B: "all" },
    volumes: ["/a:/data", "/b:/other"],
    actions: [
      {
        name: "one",
        image: "busybox",
        cmd: "/bin/sh",
        args: ["{{.Params.word}}"],
        env: { B: "own" },
        volumes: ["/c:/data"],
      },
      { name: "two", image: "busybox", namespaces: { network: "", pid: 1 } },
    ],
  });
  await here.hardware({ networkInterfaces: { "52:54:00:ab:cd:01": {} } });
  await here.workflow({
    templateRef: { name: "t" },
    hardwareRef: { name: "hw" },
    templateParams: { word: "hello" },
    timeout: 60,
  });
  expect(await here.status()).toMatchObject({
    state: "Pending",
    shape: "B",
    agentID: "52:54:00:ab:cd:01",
    actions: [
      {
        state: "Pending",
        rendered: {
          name: "one",
          cmd: "/bin/sh",
          args: ["hello"],
          env: { A: "all", B: "own" },
          volumes: ["/b:/other", "/c:/data"],
        },
      },
      { rendered: { name: "two", namespaces: { pid: "1" } } },
    ],
  });
  expect(await condition("Prepared")).toMatchObject({ status: "True" });
  expect(await condition("Started")).toMatchObject({ status: "False" });
  const [first] = (await here.state()).actions;
  expect(first?.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("a template of another shape than the workflow is refused by name", async () => {
  await here.templateV2({ actions: [{ name: "one", image: "busybox" }] });
  await here.workflow();
  expect(await condition("TemplateRenderedSuccess")).toMatchObject({
    message: 'template "t" has shape B, the workflow shape A',
  });
});

test("a workflow of v1alpha2 whose machine names no agent says so", async () => {
  await here.templateV2({ actions: [{ name: "one", image: "busybox" }] });
  await here.hardware({ networkInterfaces: {} });
  await here.workflow({ templateRef: { name: "t" }, hardwareRef: { name: "hw" } });
  expect(await condition("Prepared")).toMatchObject({ status: "False" });
  expect(JSON.stringify(await condition("Prepared"))).toContain("has no agent");
});

test("a timeout of v1alpha2 beyond a hundred years is a failure of its rendering, with its field", async () => {
  await here.templateV2({ actions: [{ name: "one", image: "busybox" }] });
  await here.hardware({ agentID: "agent-a" });
  await here.workflow({ templateRef: { name: "t" }, hardwareRef: { name: "hw" }, timeout: 10 ** 12 });
  expect(await condition("Prepared")).toMatchObject({
    status: "False",
    message:
      "error rendering template: validating workflow template: spec.timeout: a timeout of 1000000000000 seconds is longer than 100 years (3153600000 seconds)",
  });
});

test("a released template says whether its text is one", async () => {
  const state = async () => (await here.store.get<AnyTemplate>({ type: Template, namespace, name: "t" })).status;
  await here.template("bad: unclosed action");
  expect(await state()).toEqual({ state: "Error", message: "bad: unclosed action" });
  await here.store.patch({ type: Template, namespace, name: "t" }, { type: "merge", body: { spec: { data: "good" } } });
  await here.settle();
  expect(await state()).toEqual({ state: "Ready" });
});

test("a pass after which nothing is to be done reads nothing, and still looks again when a time comes", async () => {
  await here.template(planOf(["one", "two"]));
  await here.workflow();
  await scheduled();
  await here.settle();
  const read = here.store.get.bind(here.store);
  let reads = 0;
  here.store.get = (...asked) => {
    reads++;
    return read(...asked);
  };
  const touch = { metadata: { annotations: { touched: "yes" } } };
  await here.store.patch(refOf(namespace, "w"), { type: "merge", body: touch });
  await here.settle();
  expect(reads).toBe(0);
  await here.pass(settings.scheduledTimeout);
  expect(reads).toBeGreaterThan(0);
  here.store.get = read;
  expect(await here.state()).toMatchObject({ phase: "Failed", reason: "ScheduledTimeout" });
});
