import { afterEach, expect, test } from "vitest";
import { formatInstant, systemClock } from "#lib/base/index.ts";
import type { Settings } from "#dialects/tinkerbell/settings.ts";
import { workerV1, workflowV2 } from "#kernel/rpc/index.ts";
import { freePort } from "#test/support/free-port.ts";
import { startPlaceUnderTest } from "./place-under-test.ts";
import { pathOf, TinkerbellPlane } from "./plane.ts";
import { PythonClient } from "./python-client.ts";
import { connect, countOf, startsOf, tell, type Told } from "./stream-agent.ts";

// What the proposal on the execution of workflows says, sentence by sentence, where it is about the wire: an agent of another language, and
// the server with its controller and its API. README.md of this folder says which sentence is tested where.

const started: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of started.splice(0).reverse()) await each.close();
});
const closing = <T extends { close(): Promise<void> }>(each: T): T => {
  started.push(each);
  return each;
};

/** A server on a clock that stands still, whose workflows the test prepares. */
async function startPlace() {
  const { place } = closing(await startPlaceUnderTest());
  return { place, client: closing(await PythonClient.start(place.port)) };
}

/** The whole server. */
async function startPlane(settings: Partial<Settings> = {}, port?: number) {
  const plane = closing(await TinkerbellPlane.start(settings, port));
  return { plane, client: closing(await PythonClient.start(await plane.agentPort)) };
}

interface Status {
  readonly state?: string;
  readonly failureReason?: string;
  readonly failureMessage?: string;
  readonly tasks?: readonly { readonly actions: readonly { readonly id: string }[] }[];
}
const statusOf = async (plane: TinkerbellPlane, name: string) =>
  ((await plane.workflow(name))["status"] ?? {}) as Status;
const isGone = async (plane: TinkerbellPlane, name: string) => (await plane.workflow(name))["reason"] === "NotFound";

/** A workflow of one action for the agent `node`, prepared. */
async function create(plane: TinkerbellPlane, name: string, metadata: object = {}): Promise<void> {
  const actions = [{ name: "one", image: "none" }];
  const data = JSON.stringify({ name: "t", tasks: [{ name: "task", worker: "node", actions }] });
  for (const answer of [
    await plane.create("templates", { data }, name),
    await plane.create("workflows", { templateRef: name }, name, "v1alpha1", metadata),
  ])
    expect(answer.status, answer.text).toBe(201);
  await expect.poll(async () => (await statusOf(plane, name)).state ?? "").not.toBe("");
}

/** Tells the start of the one action of the workflow that came last. */
async function begin(client: PythonClient, stream: ReturnType<typeof connect>) {
  const { workflow_id = "", actions = [] } = startsOf(stream).at(-1) ?? {};
  const action = String(actions[0]?.["id"]);
  expect(await tell(client, workflow_id, ["started", action])).toBe("OK");
  return { id: workflow_id, action };
}

const namesOf = (stream: ReturnType<typeof connect>) =>
  startsOf(stream).map(({ workflow_id }) => workflow_id.split("/")[1]);

test("each rejection in a row makes a workflow wait twice as long, up to the maximum, and its words are kept", async () => {
  const { place, client } = await startPlace();
  const stream = connect(client, "agent-a");
  const id = await place.create("wf");
  for (let rejections = 1; rejections <= 9; rejections += 1) {
    await expect.poll(() => countOf(stream, "start_workflow")).toBe(rejections);
    expect(await tell(client, id, ["rejected"])).toBe("OK");
    const state = await place.state("wf");
    expect(state).toMatchObject({
      phase: "Pending",
      dispatch: { held: false, rejections, lastRejection: { reason: "WorkflowInProgress", message: "busy" } },
    });
    const wait = (state.dispatch.notBefore ?? 0) - place.clock.now();
    const usual = Math.min(5000 * 2 ** (rejections - 1), 300_000);
    expect(wait).toBeGreaterThanOrEqual(usual * 0.8);
    expect(wait).toBeLessThanOrEqual(usual * 1.2);
    await place.clock.advance(wait - 1);
    expect(countOf(stream, "start_workflow")).toBe(rejections);
    await place.clock.advance(1);
  }
});

test.each<readonly [string, readonly Told[]]>([
  ["rejection", [["rejected"]]],
  ["start", [["started"]]],
  ["success", [["started"], ["succeeded"]]],
  ["failure", [["started"], ["failed"]]],
  ["last success", [["succeeded"], ["started", "id-two"], ["succeeded", "id-two"]]],
])("a %s that is told twice is answered OK, and changes nothing the second time", async (_what, events) => {
  const { place, client } = await startPlace();
  const stream = connect(client, "agent-a");
  const id = await place.create("wf");
  await expect.poll(() => countOf(stream, "start_workflow")).toBe(1);
  for (const event of events) expect(await tell(client, id, event)).toBe("OK");
  const before = await place.workflow("wf");
  expect(await tell(client, id, events.at(-1) ?? ["started"])).toBe("OK");
  expect(await place.workflow("wf")).toEqual(before);
});

test("an agent that was told of a workflow and never answers has failed it when the time is over, and may have the next one", async () => {
  const { plane, client } = await startPlane({ scheduledTimeout: 500 });
  const stream = connect(client, "node");
  await create(plane, "w");
  await expect.poll(async () => (await statusOf(plane, "w")).state).toBe("FAILED");
  expect(await statusOf(plane, "w")).toMatchObject({
    failureReason: "ScheduledTimeout",
    failureMessage: "agent node did not start the workflow within 500ms of dispatch",
  });
  await expect.poll(() => countOf(stream, "stop_workflow")).toBe(1);
  await create(plane, "next");
  expect(namesOf(stream)).toEqual(["w"]);
  // Of the time in which it may confirm the stop nothing is left.
  const answer = await plane.api.ask("PATCH", `${pathOf("workflows")}/w/status`, {
    body: { status: { deadlines: { held: formatInstant(systemClock.now()) } } },
    headers: { "Content-Type": "application/merge-patch+json" },
  });
  expect(answer.status, answer.text).toBe(200);
  await expect.poll(() => namesOf(stream)).toContain("next");
});

test("a workflow that runs and is deleted is Cancelling, its agent is told and confirms, and only then it is Canceled and gone", async () => {
  const { plane, client } = await startPlane();
  const stream = connect(client, "node");
  await create(plane, "w");
  await expect.poll(() => countOf(stream, "start_workflow")).toBe(1);
  const { id, action } = await begin(client, stream);
  const watch = await plane.api.watch(`${pathOf("workflows")}?watch=1&fieldSelector=metadata.name%3Dw`);
  const seen: string[] = [];
  const watching = (async () => {
    for (let event = await watch.next(); event !== undefined; event = await watch.next()) {
      const { type, object } = event as unknown as {
        readonly type: string;
        readonly object: { readonly status?: Status };
      };
      const what = type === "DELETED" ? type : (object.status?.state ?? "");
      if (seen.at(-1) !== what) seen.push(what);
      if (type === "DELETED") return;
    }
  })();
  await create(plane, "next");
  await plane.api.ask("DELETE", `${pathOf("workflows")}/w`);
  await expect.poll(() => countOf(stream, "stop_workflow")).toBe(1);
  await expect.poll(() => seen.at(-1)).toBe("CANCELLING");
  // The agent is not known to be free: nothing else is given to it.
  expect(namesOf(stream)).toEqual(["w"]);
  expect(await tell(client, id, ["failed", action])).toBe("OK");
  await watching;
  watch.close();
  expect(seen).toEqual(["RUNNING", "CANCELLING", "CANCELED", "DELETED"]);
  await expect.poll(() => namesOf(stream)).toEqual(["w", "next"]);
});

test("a cancel that nobody confirms is forced, and says why to who keeps the workflow by a finalizer", async () => {
  const { plane, client } = await startPlane({ cancellingTimeout: 300 });
  const stream = connect(client, "node");
  await create(plane, "w", { finalizers: ["example.com/keep"] });
  await expect.poll(() => countOf(stream, "start_workflow")).toBe(1);
  await begin(client, stream);
  await plane.api.ask("DELETE", `${pathOf("workflows")}/w`);
  await expect.poll(async () => (await statusOf(plane, "w")).state).toBe("CANCELED");
  expect(await statusOf(plane, "w")).toMatchObject({
    failureReason: "CancelTimeout",
    failureMessage: "agent node did not confirm cancellation within 300ms; the action may still be running",
  });
  const finalizers = async () =>
    ((await plane.workflow())["metadata"] as unknown as { finalizers?: string[] }).finalizers;
  await expect.poll(finalizers).toEqual(["example.com/keep"]);
  await plane.api.ask("PATCH", `${pathOf("workflows")}/w`, {
    body: { metadata: { finalizers: null } },
    headers: { "Content-Type": "application/merge-patch+json" },
  });
  await expect.poll(() => isGone(plane, "w")).toBe(true);
});

test("a server that begins anew ends streams as UNAVAILABLE; a plain agent that comes back is told the rest again, as one more attempt", async () => {
  const { plane, client } = await startPlane({}, await freePort());
  const stream = connect(client, "node");
  const actions = ["one", "two"].map((name) => ({ name, image: "none" }));
  const data = JSON.stringify({ name: "t", tasks: [{ name: "task", worker: "node", actions }] });
  await plane.create("templates", { data }, "t");
  await plane.create("workflows", { templateRef: "t" }, "w");
  await expect.poll(() => countOf(stream, "start_workflow")).toBe(1);
  const [told] = startsOf(stream);
  const id = told?.workflow_id ?? "";
  const [one = "", two = ""] = (told?.actions ?? []).map((action) => String(action["id"]));
  for (const event of [
    ["started", one],
    ["succeeded", one],
    ["started", two],
  ] as const)
    expect(await tell(client, id, event)).toBe("OK");
  await plane.restart();
  expect(await stream.end.promise).toMatchObject({ code: "UNAVAILABLE" });
  let again = connect(client, "node");
  // A client that has seen the connection break waits before it tries again, and says so at once to whoever asks.
  await expect
    .poll(async () => {
      const ended = await Promise.race([again.end.promise, Promise.resolve(undefined)]);
      if (ended !== undefined) again = connect(client, "node");
      return startsOf(again).map((each) => each.actions.map(({ name }) => name));
    })
    .toEqual([["two"]]);
  for (const event of [
    ["started", two],
    ["succeeded", two],
  ] as const)
    expect(await tell(client, id, event)).toBe("OK");
  expect(await statusOf(plane, "w")).toMatchObject({
    state: "SUCCESS",
    tasks: [{ actions: [{ attempts: 1 }, { attempts: 2 }] }],
  });
});

test("a workflow that waits and is deleted is Canceled and gone, and its agent never hears of it", async () => {
  const { plane, client } = await startPlane();
  const stream = connect(client, "node");
  await create(plane, "first");
  await expect.poll(() => countOf(stream, "start_workflow")).toBe(1);
  const { id, action } = await begin(client, stream);
  await create(plane, "deleted", { finalizers: ["example.com/keep"] });
  await create(plane, "third");
  await plane.api.ask("DELETE", `${pathOf("workflows")}/deleted`);
  await expect.poll(async () => (await statusOf(plane, "deleted")).state).toBe("CANCELED");
  expect(await tell(client, id, ["succeeded", action])).toBe("OK");
  await expect.poll(() => namesOf(stream)).toEqual(["first", "third"]);
  expect(countOf(stream, "stop_workflow")).toBe(0);
});

test("a workflow of v1alpha2 reaches a client of the plain interface whole: entrypoint, arguments, environment, volumes, namespaces", async () => {
  const { plane, client } = await startPlane();
  const stream = connect(client, "52:54:00:12:34:56");
  const action = {
    name: "one",
    image: "busybox:1.36",
    cmd: "/bin/sh",
    args: ["-c", "true"],
    env: { A: "1" },
    volumes: ["/dev:/dev"],
    namespaces: { pid: "host", network: "none" },
  };
  for (const answer of [
    await plane.create("hardware", { networkInterfaces: { "52:54:00:12:34:56": {} } }, "m", "v1alpha2"),
    await plane.create("templates", { actions: [action] }, "t", "v1alpha2"),
    await plane.create("workflows", { templateRef: { name: "t" }, hardwareRef: { name: "m" } }, "w", "v1alpha2"),
  ])
    expect(answer.status, answer.text).toBe(201);
  await expect.poll(() => countOf(stream, "start_workflow")).toBe(1);
  const [told] = startsOf(stream);
  const { uid } = (await plane.workflow())["metadata"] as unknown as { readonly uid: string };
  expect(told?.workflow_id).toBe(`default/w/${uid}`);
  const { namespaces: _, ...same } = action;
  expect(told?.actions).toEqual([{ ...same, id: expect.any(String), ns: { pid: "host", net: "none" } }]);
});

test("keys of a template that nothing is done with, and values that the built-in ones overwrite, are told as IgnoredField", async () => {
  const { plane } = await startPlane();
  const action = { name: "one", image: "none", "on-timeout": ["a"], "on-failure": ["b"] };
  const data = JSON.stringify({ name: "t", tasks: [{ name: "task", worker: "{{ .hardware }}x", actions: [action] }] });
  for (const answer of [
    await plane.create("templates", { data }, "t"),
    await plane.create("workflows", { templateRef: "t", hardwareMap: { hardware: "mine", references: "mine" } }, "w"),
  ])
    expect(answer.status, answer.text).toBe(201);
  const notes = async () => {
    const { json } = await plane.api.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events");
    const events = (json["items"] ?? []) as unknown as readonly { readonly reason: string; readonly note: string }[];
    return events
      .filter(({ reason }) => reason === "IgnoredField")
      .map(({ note }) => note)
      .sort();
  };
  await expect
    .poll(notes)
    .toEqual([
      "hardwareMap.hardware is overwritten by what the template has under that name",
      "hardwareMap.references is overwritten by what the template has under that name",
      "tasks[0].actions[0].on-failure (line 1 of the rendered template) is not supported",
      "tasks[0].actions[0].on-timeout (line 1 of the rendered template) is not supported",
    ]);
  // The built-in value, and not the user's.
  expect(await statusOf(plane, "w")).toMatchObject({ state: "PENDING", agentID: "map[]x" });
});

/** `Message.field=number kind` for every field of a file's messages, those within others as well. */
type File = typeof workflowV2.file_internal_proto_workflow_v2_workflow;
const fieldsOf = (file: File): readonly string[] => {
  const lines: string[] = [];
  const walk = (messages: File["messages"]): void => {
    for (const { typeName, fields, nestedMessages } of messages) {
      const name = typeName.slice(file.proto.package.length + 1);
      for (const { name: field, number, fieldKind } of fields) lines.push(`${name}.${field}=${number} ${fieldKind}`);
      walk(nestedMessages);
    }
  };
  walk(file.messages);
  return lines.sort();
};

test("the interfaces have the messages, fields and numbers of the proposal", () => {
  const table = (text: string) =>
    text
      .trim()
      .split(/\s*[;\n]\s*/)
      .sort();
  expect(fieldsOf(workflowV2.file_internal_proto_workflow_v2_workflow)).toEqual(
    table(`
    GetWorkflowsRequest.agent_id=1 scalar
    GetWorkflowsResponse.start_workflow=1 message; GetWorkflowsResponse.stop_workflow=2 message
    GetWorkflowsResponse.StartWorkflow.workflow=1 message; GetWorkflowsResponse.StopWorkflow.workflow_id=1 scalar
    PublishEventRequest.event=1 message
    Workflow.workflow_id=1 scalar; Workflow.actions=2 list
    Workflow.Action.id=1 scalar; Workflow.Action.name=2 scalar; Workflow.Action.image=3 scalar; Workflow.Action.cmd=4 scalar
    Workflow.Action.args=5 list; Workflow.Action.env=6 map; Workflow.Action.volumes=7 list; Workflow.Action.ns=8 message
    Workflow.Action.Namespace.pid=1 scalar; Workflow.Action.Namespace.net=2 scalar
    Event.workflow_id=1 scalar; Event.action_started=2 message; Event.action_succeeded=3 message
    Event.action_failed=4 message; Event.workflow_rejected=5 message
    Event.ActionStarted.action_id=1 scalar; Event.ActionSucceeded.action_id=1 scalar
    Event.ActionFailed.action_id=1 scalar; Event.ActionFailed.failure_reason=2 scalar; Event.ActionFailed.failure_message=3 scalar
    Event.WorkflowRejected.failure_reason=1 scalar; Event.WorkflowRejected.failure_message=2 scalar`),
  );
  expect(fieldsOf(workerV1.file_proto_worker)).toEqual(
    table(`
    WorkflowContextRequest.worker_id=1 scalar
    WorkflowContext.workflow_id=1 scalar; WorkflowContext.current_worker=2 scalar; WorkflowContext.current_task=3 scalar
    WorkflowContext.current_action=4 scalar; WorkflowContext.current_action_index=5 scalar
    WorkflowContext.current_action_state=6 enum; WorkflowContext.total_number_of_actions=7 scalar
    WorkflowActionsRequest.workflow_id=1 scalar; WorkflowActionList.action_list=1 list
    WorkflowAction.task_name=1 scalar; WorkflowAction.name=2 scalar; WorkflowAction.image=3 scalar; WorkflowAction.timeout=4 scalar
    WorkflowAction.command=5 list; WorkflowAction.on_timeout=6 list; WorkflowAction.on_failure=7 list
    WorkflowAction.worker_id=8 scalar; WorkflowAction.volumes=9 list; WorkflowAction.environment=10 list; WorkflowAction.pid=11 scalar
    WorkflowActionStatus.workflow_id=1 scalar; WorkflowActionStatus.task_name=2 scalar; WorkflowActionStatus.action_name=3 scalar
    WorkflowActionStatus.action_status=4 enum; WorkflowActionStatus.seconds=5 scalar; WorkflowActionStatus.message=6 scalar
    WorkflowActionStatus.created_at=7 message; WorkflowActionStatus.worker_id=8 scalar`),
  );
});
