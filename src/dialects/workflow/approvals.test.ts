import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { describeWorkflow } from "./describe.ts";
import { type Approval, type StepStatus, Workflow, type WorkflowSpec } from "./kinds.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { resubmission } from "./resubmit.ts";
import { Harness, job } from "./testing/harness.ts";
import { viewWorkflow } from "./view.ts";

let harness: Harness;
let actor: JsonObject = {};
beforeEach(() => {
  actor = {};
  // What the admission of RunActions notes, of whoever acts at the moment.
  harness = new Harness({ admit: (object) => (object.kind === "RunAction" ? { ...object, status: actor } : object) });
});
afterEach(() => harness.close());

const group = { approvers: [{ kind: "Group", name: "release" }] } as const;
const anna = { by: "anna", groups: ["release"] };
const ben = { by: "ben", groups: ["release", "ops"] };
const eve = { by: "eve", groups: ["guests"] };

const asking = (approval: Approval, more: JsonObject = {}): WorkflowSpec => ({
  steps: {
    ask: { approval, ...more },
    deploy: job({
      dependencies: ["ask"],
      jobTemplate: {
        spec: {
          template: {
            spec: {
              restartPolicy: "Never",
              containers: [{ name: "main", image: "i", args: ["${{ toJson(steps.ask.outputs) }}"] }],
            },
          },
        },
      },
    }),
  },
});

const stepOf = async (key = "ask"): Promise<StepStatus> => (await harness.status()).statuses?.[key] ?? {};

let count = 0;
/** The answer to one action of somebody about the step `ask`. */
async function say(action: string, who: JsonObject, more: JsonObject = {}): Promise<RunAction["status"]> {
  actor = who;
  const name = `${action}-x${(count += 1)}x`;
  await harness.act(action, { step: "ask", ...more }, name);
  return await harness.action(name);
}

describe("who may decide", () => {
  test("nobody has decided: the step waits, asks its question, and says whom it waits for", async () => {
    const spec = asking({ message: "Deploy ${{ workflow.name }}?", ...group });
    await harness.create(spec);
    expect(await harness.status()).toMatchObject({ phase: "Suspended" });
    expect(await stepOf()).toMatchObject({
      phase: "Suspended",
      message: "Deploy wf?",
      templateHash: expect.any(String),
    });
    expect(harness.events.find(({ reason }) => reason === "ApprovalRequested")?.note).toBe(
      'step "ask" waits for approval: Deploy wf?',
    );
    const workflow = await harness.workflow();
    const [step] = viewWorkflow(workflow).steps;
    expect(step).toMatchObject({
      message: "Deploy wf? (waits for approval of group release)",
      actions: ["approve", "reject", "cancel"],
    });
    expect(describeWorkflow(workflow, harness.clock.now())).toContain(
      "Deploy wf? (waits for approval of group release)",
    );
    expect(await harness.jobs()).toEqual([]);
  });

  test.each([
    ["somebody else", eve, "user eve is no approver of this step; group release may decide"],
    ["a user called like the group", { by: "release", groups: [] }, /^user release is no approver/],
    ["somebody unknown", {}, "the server has not verified who acts, and only group release may decide"],
    ["somebody unverified", { by: "unverified", groups: ["release"] }, /has not verified who acts/],
  ])("%s is refused, whatever they ask for", async (_name, who, message) => {
    await harness.create(asking(group));
    for (const action of ["approve", "reject", "resume"])
      expect(await say(action, who)).toMatchObject({
        phase: "Refused",
        message: typeof message === "string" ? message : expect.stringMatching(message),
      });
    expect(await stepOf()).toMatchObject({ phase: "Suspended" });
    expect(await stepOf()).not.toHaveProperty("approvals");
  });

  test.each([
    ["a member of the group", anna, group],
    ["the user that is named", eve, { approvers: [{ kind: "User", name: "eve" }] }],
    ["anybody, where nobody is named", {}, {}],
  ] as const)("%s approves, and the run goes on", async (_name, who, approval) => {
    await harness.create(asking(approval));
    expect(await say("approve", who)).toMatchObject({ phase: "Done" });
    expect(await stepOf()).toMatchObject({ phase: "Succeeded", complete: true });
    expect(await harness.active()).toEqual(["deploy"]);
  });

  test("who may not decide may not skip the question before it is asked", async () => {
    const spec = { steps: { ...asking(group).steps, a: job(), ask: { approval: group, dependencies: ["a"] } } };
    await harness.create(spec);
    expect(await say("approve", anna)).toMatchObject({
      message: 'step "ask" is Pending; it can be decided once it waits for approval',
    });
    expect(await say("skip", eve)).toMatchObject({ message: expect.stringMatching(/^user eve is no approver/) });
    expect(await say("skip", anna)).toMatchObject({ phase: "Done" });
    expect(await stepOf()).toMatchObject({ phase: "Skipped" });
  });

  test("a question that was changed behind the back of admission is not answered until it is put back", async () => {
    await harness.create(asking(group));
    await harness.edit({ steps: { ask: { approval: { approvers: [{ kind: "User", name: "eve" }] } } } });
    expect(await say("approve", eve)).toMatchObject({
      phase: "Refused",
      message: expect.stringMatching(/put it back/),
    });
    await harness.edit({ steps: { ask: { approval: group } } });
    expect(await say("approve", anna)).toMatchObject({ phase: "Done" });
  });
});

describe("several approvals", () => {
  const two = { ...group, message: "Go?", minApprovals: 2 };

  test("two of two, each counted once and written down when it comes", async () => {
    await harness.create(asking(two));
    const before = harness.statusWrites;
    expect(await say("approve", anna)).toMatchObject({ phase: "Done", message: "1 of 2 approvals: anna" });
    expect(harness.statusWrites).toBe(before + 1);
    expect(await stepOf()).toMatchObject({
      phase: "Suspended",
      message: "Go? (1 of 2 approvals: anna)",
      approvals: [{ by: "anna", time: expect.any(String) }],
    });
    expect(await say("approve", anna)).toMatchObject({
      phase: "Done",
      message: "anna has already approved; each user counts once: 1 of 2 approvals: anna",
    });
    expect(harness.statusWrites).toBe(before + 1);
    expect(await say("resume", ben, { reason: "tested" })).toMatchObject({ message: "2 of 2 approvals: anna, ben" });
    expect(await stepOf()).toMatchObject({
      phase: "Succeeded",
      message: "approved by anna, ben: tested",
      outputs: { approvedBy: ["anna", "ben"] },
    });
    expect(harness.events.find(({ reason }) => reason === "StepApproved")?.note).toBe(
      'step "ask" succeeded: approved by anna, ben: tested',
    );
  });

  test("what was approved before a restart counts after it, and a lost answer is given again", async () => {
    await harness.create(asking(two));
    await say("approve", anna);
    const { clock, store } = harness;
    const { items } = await store.list<RunAction>(RunAction, { namespace: "default" });
    await harness.close();
    // The effect was stored, the answer was not.
    for (const found of items) {
      const { phase: _phase, message: _message, finishTime: _finish, ...noted } = found.status ?? {};
      await store.updateStatus(RunAction, { ...found, status: noted });
    }
    harness = new Harness({ clock, store });
    await harness.settle();
    expect(await harness.action("approve")).toMatchObject({ phase: "Done", by: "anna" });
    expect((await stepOf()).approvals).toHaveLength(1);
    await say("approve", ben);
    expect(await stepOf()).toMatchObject({ phase: "Succeeded", outputs: { approvedBy: ["anna", "ben"] } });
  });

  test("one rejection rejects, after an approval too, and its answer can be given twice", async () => {
    await harness.create(asking(two));
    await say("approve", anna);
    expect(await say("reject", ben, { reason: "not on a Friday" })).toMatchObject({ phase: "Done" });
    expect(await stepOf()).toMatchObject({
      phase: "Failed",
      reason: "Rejected",
      message: "rejected by ben: not on a Friday",
    });
    expect(await harness.phases()).toMatchObject({ deploy: "Skipped/DependencyFailed" });
    expect(harness.reasons()).toContain("StepRejected");
    expect(await say("reject", ben, { reason: "not on a Friday" })).toMatchObject({ message: "the step was rejected" });
    expect(await say("reject", anna)).toMatchObject({
      phase: "Refused",
      message: expect.stringMatching(/only retry is possible/),
    });
  });

  test("an answer that is given again after the end of the run is refused, whatever it was the first time", async () => {
    const late = { phase: "Refused", message: expect.stringMatching(/^the workflow is \w+; only retry is possible$/) };
    await harness.create({ steps: { ask: { approval: {} } } });
    await say("approve", anna);
    expect(await harness.status()).toMatchObject({ phase: "Succeeded" });
    await harness.pass(1_000);
    expect(await say("approve", anna)).toMatchObject(late);
    await harness.act("retry", { steps: ["ask"] });
    await say("reject", ben);
    expect(await harness.status()).toMatchObject({ phase: "Failed" });
    await harness.pass(1_000);
    expect(await say("reject", ben)).toMatchObject(late);
  });

  test("different people need names to be told apart by", async () => {
    await harness.create(asking({ minApprovals: 2 }));
    expect(await say("approve", {})).toMatchObject({
      phase: "Refused",
      message: "the server has not verified who acts, and 2 different users must approve",
    });
  });
});

describe("inputs", () => {
  const inputs: Approval["inputs"] = [
    { name: "tag", pattern: "^v[0-9]+$", required: true },
    { name: "count", type: "integer", default: 3 },
    { name: "where", enum: ["eu", "us"] },
  ];

  test("values are checked like arguments, with everything that is wrong, and become outputs", async () => {
    await harness.create(asking({ inputs }));
    expect(await say("approve", anna, { values: { tag: "1", count: "x", where: "mars", cuont: 1 } })).toMatchObject({
      phase: "Refused",
      message:
        'values.tag: expected a text that matches ^v[0-9]+$, found "1"; ' +
        'values.count: expected an integer, found "x"; ' +
        'values.where: expected one of "eu", "us", found "mars"; ' +
        'values.cuont: no parameter "cuont" is declared (did you mean "count"?)',
    });
    expect(await say("approve", anna)).toMatchObject({ message: 'values.tag: the parameter "tag" is required' });
    await say("approve", anna, { values: { tag: "v7" } });
    const outputs = { tag: "v7", count: 3, approvedBy: ["anna"] };
    expect((await stepOf()).outputs).toEqual(outputs);
    const { spec } = await harness.jobOf("deploy");
    expect(JSON.parse(JSON.stringify(spec))).toMatchObject({
      template: { spec: { containers: [{ args: [expect.stringContaining('"tag":"v7"')] }] } },
    });
  });

  test("of several approvals the later value of a name wins, and what one has given the next need not give", async () => {
    await harness.create(asking({ inputs, minApprovals: 2 }));
    await say("approve", anna, { values: { tag: "v7", count: 1 } });
    await say("approve", ben, { values: { count: 2 } });
    expect((await stepOf()).outputs).toEqual({ tag: "v7", count: 2, approvedBy: ["anna", "ben"] });
  });

  test("values that a status cannot hold are refused", async () => {
    await harness.create(asking({ inputs: [{ name: "text" }] }));
    expect(await say("approve", anna, { values: { text: "x".repeat(20_000) } })).toMatchObject({
      phase: "Refused",
      message: expect.stringMatching(/^the values have \d+ bytes, at most 32768 are kept$/),
    });
  });
});

describe("time", () => {
  test.each([
    [{}, "Failed/Rejected", "no decision within 60s"],
    [{ onTimeout: "Approve" }, "Succeeded", "no rejection within 60s"],
  ] as const)("silence of a minute with %j ends as %s", async (more, phase, message) => {
    await harness.create(asking({ timeoutSeconds: 60, ...more }));
    await harness.pass(59_000);
    expect(await harness.phases()).toMatchObject({ ask: "Suspended" });
    await harness.pass(1_000);
    expect(await harness.phases()).toMatchObject({ ask: phase });
    expect((await stepOf()).message).toBe(message);
  });

  test("what stepDefaults says of attempts does not end a question", async () => {
    await harness.create({ ...asking({}), stepDefaults: { timeoutSeconds: 1, retry: { limit: 2 } } });
    await harness.pass(60_000);
    expect(await harness.phases()).toMatchObject({ ask: "Suspended" });
  });

  test("who submits a run again does not approve it by that", async () => {
    await harness.create(asking(group));
    await say("approve", anna);
    await harness.end("deploy", { exitCode: 1 });
    const { metadata, ...object } = resubmission(await harness.workflow(), { reuse: true });
    const { generateName: _completed, ...rest } = metadata;
    await harness.store.create(Workflow, { ...object, metadata: { ...rest, name: "again" } });
    await harness.settle();
    expect(await harness.phases("again")).toEqual({ ask: "Suspended" });
  });

  test("a retry of the run asks again, and nobody has approved yet", async () => {
    await harness.create(asking({ ...group, minApprovals: 2 }));
    await say("approve", anna);
    await say("reject", ben);
    await harness.act("retry");
    expect(await stepOf()).toMatchObject({ phase: "Suspended" });
    expect(await stepOf()).not.toHaveProperty("approvals");
    expect(await say("approve", anna)).toMatchObject({ message: "1 of 2 approvals: anna" });
  });
});
