import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runActions, types, workflows, WorkflowPlane } from "./control-plane.ts";

// Who approves is who the server has verified, whatever the body of the request says.

let plane: WorkflowPlane;
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const typed = (kind: string) => ({ apiVersion: "rbac.authorization.k8s.io/v1", kind });
const as = (user: string, group: string) => ({ "Impersonate-User": user, "Impersonate-Group": group });
const anna = as("anna", "release");
const ben = as("ben", "release");
const eve = as("eve", "guests");
const olga = as("olga", "slipway:operators");

beforeAll(async () => {
  plane = await WorkflowPlane.start();
  const send = async (path: string, body: object) => {
    const answer = await plane.api.ask("POST", path, { body });
    if (answer.status !== 201) throw new Error(answer.text);
  };
  const rules = [{ verbs: ["create"], apiGroups: ["slipway.dev"], resources: ["runactions"] }];
  await send(`${rbac}/clusterroles`, { ...typed("ClusterRole"), metadata: { name: "actor" }, rules });
  await send(`${rbac}/namespaces/default/rolebindings`, {
    ...typed("RoleBinding"),
    metadata: { name: "actor" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "actor" },
    subjects: ["release", "guests"].map((name) => ({ kind: "Group", name })),
  });
});
afterAll(() => plane.close());

const approvers = [{ kind: "Group", name: "release" }];
const asking = (more: object = {}) => ({ steps: { ask: { approval: { approvers, ...more } } } });

let count = 0;
/** The answer to a RunAction that somebody sends with this body. */
async function say(target: string, action: string, headers: Record<string, string>, more: object = {}) {
  const name = `act-${(count += 1)}`;
  const reference = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: target };
  const body = {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "RunAction",
    metadata: { name },
    spec: { target: reference, action, step: "ask" },
    ...more,
  };
  const answer = await plane.api.ask("POST", runActions, { body, headers });
  if (answer.status !== 201) throw new Error(answer.text);
  await plane.settle();
  return { name, status: (await plane.get(`${runActions}/${name}`))["status"] };
}

test("nobody, the wrong user, the right user, two of two", async () => {
  await plane.create("two", asking({ minApprovals: 2 }));
  expect(await plane.phases("two")).toEqual({ ask: "Suspended" });
  expect((await say("two", "approve", eve)).status).toMatchObject({
    phase: "Refused",
    by: "eve",
    groups: ["guests", "system:authenticated"],
    message: "user eve is no approver of this step; group release may decide",
  });
  expect((await say("two", "approve", anna)).status).toMatchObject({ phase: "Done", by: "anna" });
  expect((await say("two", "approve", anna)).status).toMatchObject({ message: expect.stringContaining("counts once") });
  expect(await plane.phases("two")).toEqual({ ask: "Suspended" });
  expect((await say("two", "approve", ben)).status).toMatchObject({ message: "2 of 2 approvals: anna, ben" });
  expect(await plane.status("two")).toMatchObject({
    phase: "Succeeded",
    statuses: { ask: { approvals: [{ by: "anna" }, { by: "ben" }], outputs: { approvedBy: ["anna", "ben"] } } },
  });
  expect((await say("two", "reject", anna)).status).toMatchObject({
    phase: "Refused",
    message: "the workflow is Succeeded; only retry is possible",
  });
});

test("reject, and timeout", async () => {
  await plane.create("no", asking());
  expect((await say("no", "reject", anna)).status).toMatchObject({ phase: "Done" });
  await plane.create("late", asking({ timeoutSeconds: 60 }));
  await plane.pass(60_000);
  for (const name of ["no", "late"]) {
    expect(await plane.phases(name)).toEqual({ ask: "Failed/Rejected" });
    expect(await plane.status(name)).toMatchObject({ phase: "Failed", reason: "StepFailed" });
  }
});

describe("nobody makes himself an approver", () => {
  test("by a status in the request", async () => {
    await plane.create("sent", asking());
    const forged = { status: { by: "anna", groups: ["release"] } };
    expect((await say("sent", "approve", eve, forged)).status).toMatchObject({ phase: "Refused", by: "eve" });
  });

  test("by writing the status of an action or of the run, which operators may not", async () => {
    await plane.create("written", asking());
    const { name } = await say("written", "approve", olga);
    const attempts: readonly [string, object][] = [
      [`${runActions}/${name}/status`, { status: { phase: null, by: "anna", groups: ["release"] } }],
      [`${workflows}/written/status`, { status: { statuses: { ask: { phase: "Succeeded" } } } }],
    ];
    for (const [path, body] of attempts) {
      const answer = await plane.api.ask("PATCH", path, {
        bytes: JSON.stringify(body),
        headers: { ...types.merge, ...olga },
      });
      expect(answer.status).toBe(403);
    }
    await plane.settle();
    expect(await plane.phases("written")).toEqual({ ask: "Suspended" });
  });

  test("by changing who is asked, once the question is put", async () => {
    await plane.create("changed", asking());
    const spec = { steps: { ask: { approval: { approvers: [{ kind: "User", name: "olga" }] } } } };
    const answer = await plane.api.ask("PATCH", `${workflows}/changed`, {
      bytes: JSON.stringify({ spec }),
      headers: { ...types.merge, ...olga },
    });
    expect(answer.status).toBe(422);
    expect(answer.text).toContain('cannot modify running step \\"ask\\"');
  });
});

test("what cannot be an answer is refused before it is stored", async () => {
  const causes = async (spec: object) => {
    const target = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "two" };
    const body = {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "RunAction",
      metadata: { name: "wrong" },
      spec: { target, ...spec },
    };
    const { status, text } = await plane.api.ask("POST", runActions, { body });
    expect(status).toBe(422);
    return text;
  };
  expect(await causes({ action: "approve" })).toContain("approve needs the step to approve");
  expect(await causes({ action: "reject", step: "ask", values: {} })).toContain("only approvals may have values");
});
