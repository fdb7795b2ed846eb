import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { childLabels, childName } from "#dialects/workflow/child-names.ts";
import { runActions, types, workflow, WorkflowPlane, workflows } from "./control-plane.ts";

// An editor of a namespace works on what an administrator runs there. Nothing he writes may be done with the administrator's rights, and
// no approval may be passed by it. The editor is a ServiceAccount with the ClusterRole `edit`, and comes over HTTPS with its token.

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const slipway = "/apis/slipway.dev/v1alpha1/namespaces/default";
const core = "/api/v1/namespaces/default";
const templates = `${slipway}/workflowtemplates`;
const note = "slipway.dev/acts-for";

let plane: WorkflowPlane;
let editor: string;
/** May write statuses by a role of his own. */
let statusWriter: string;
/** May read and patch templates, and nothing else. */
let templateWriter: string;

/** Without a token as the administrator. */
const send = async (path: string, body: object, token?: string, headers = {}) => {
  const answer = await plane.api.ask("POST", path, { body, headers, ...(token === undefined ? {} : { token }) });
  if (answer.status >= 300) throw new Error(answer.text);
  await plane.settle();
  return answer.json;
};
const patch = async (path: string, body: object, token?: string) => {
  const headers = types.merge;
  const bytes = JSON.stringify(body);
  const answer = await plane.api.ask("PATCH", path, { bytes, headers, ...(token === undefined ? {} : { token }) });
  await plane.settle();
  return answer;
};

/** The token of a new ServiceAccount with a ClusterRole in the namespace. */
async function account(name: string, clusterRole: string): Promise<string> {
  await send(`${core}/serviceaccounts`, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } });
  await send(`${rbac}/namespaces/default/rolebindings`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: clusterRole },
    subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
  });
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 86_400 } };
  return String((await send(`${core}/serviceaccounts/${name}/token`, request))["status"]?.["token"]);
}
const clusterRole = (name: string, rule: object) =>
  send(`${rbac}/clusterroles`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name },
    rules: [{ apiGroups: ["slipway.dev"], ...rule }],
  });

beforeAll(async () => {
  plane = await WorkflowPlane.start();
  const resources = ["workflows", "workflows/status", "runactions", "runactions/status"];
  await clusterRole("status-writer", { resources, verbs: ["get", "create", "patch", "update"] });
  await clusterRole("template-writer", { resources: ["workflowtemplates"], verbs: ["get", "patch"] });
  editor = await account("editor", "edit");
  statusWriter = await account("status-writer", "status-writer");
  templateWriter = await account("template-writer", "template-writer");
});
afterAll(() => plane.close());

const hello = { template: { apiVersion: "v1", kind: "ConfigMap" } };
/** Makes its writer an administrator, where it is done. */
const seize = (name: string) => ({
  ownership: "Independent",
  template: {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "editor", namespace: "default" }],
  },
});
const isSeized = async (name: string) =>
  (await plane.api.ask("GET", `${rbac}/clusterrolebindings/${name}`)).status === 200;
const template = (name: string, spec: object) => ({ ...workflow(name, spec), kind: "WorkflowTemplate" });
const noted = async (path: string) => (await plane.get(path)).metadata?.["annotations"]?.[note];
const editorNote = expect.stringContaining('"user":"system:serviceaccount:default:editor"');
/** Lets runs go on, Job controllers and retries included. */
const goOn = () => plane.pass(3_000);

describe("a template of an administrator that an editor has changed", () => {
  test.each([
    ["edit", () => editor],
    ["get and patch on templates alone", () => templateWriter],
  ])("gives whoever has %s nothing through a Workflow of the administrator", async (role, token) => {
    const name = role.split(" ")[0] ?? "";
    await send(templates, template(name, { steps: { hello } }));
    await send(workflows, workflow(`${name}-run`, { suspend: true, templateRef: { name } }));
    const spec = { steps: { hello: null, seize: seize(name) } };
    expect((await patch(`${templates}/${name}`, { spec }, token())).status).toBe(200);
    await patch(`${workflows}/${name}-run`, { spec: { suspend: false } });
    await goOn();
    expect(await plane.phases(`${name}-run`)).toMatchObject({ seize: "Failed/Forbidden" });
    expect(await isSeized(name)).toBe(false);
    expect((await plane.status(`${name}-run`))["actsFor"]).toMatchObject([
      { user: expect.stringContaining("system:serviceaccount:default:") },
    ]);
  });

  test("gives him nothing through a ScheduledWorkflow", async () => {
    await send(templates, template("nightly", { steps: { hello } }));
    const spec = { schedule: "* * * * *", workflowTemplate: { spec: { templateRef: { name: "nightly" } } } };
    await send(`${slipway}/scheduledworkflows`, { ...workflow("nightly", spec), kind: "ScheduledWorkflow" });
    await patch(`${templates}/nightly`, { spec: { steps: { hello: null, seize: seize("nightly") } } }, editor);
    await plane.pass(60_000);
    await goOn();
    const names = (await plane.list(workflows)).map(({ metadata }) => String(metadata?.["name"]));
    const run = names.find((one) => one.startsWith("nightly-")) ?? "";
    expect(await plane.phases(run)).toEqual({ seize: "Failed/Forbidden" });
    expect(await isSeized("nightly")).toBe(false);
    await plane.api.ask("DELETE", `${slipway}/scheduledworkflows/nightly`);
  });

  test("gives him nothing through a child Workflow, and nothing through the steps that follow it", async () => {
    await send(templates, template("part", { steps: { hello } }));
    const steps = {
      part: { workflow: { templateRef: { name: "part" } }, onFailure: "Continue" },
      after: { ...seize("after-part"), dependencies: ["part"] },
    };
    await send(workflows, workflow("whole", { suspend: true, steps }));
    await patch(`${templates}/part`, { spec: { steps: { hello: null, seize: seize("part") } } }, editor);
    await patch(`${workflows}/whole`, { spec: { suspend: false } });
    await goOn();
    expect(await isSeized("part")).toBe(false);
    expect(await plane.phases("whole")).toMatchObject({ after: "Failed/Forbidden" });
    expect(await isSeized("after-part")).toBe(false);
  });

  test("does what he may do", async () => {
    await send(templates, template("shared", { steps: { hello } }), editor);
    await send(workflows, workflow("shares", { templateRef: { name: "shared" } }));
    await goOn();
    expect(await plane.phases("shares")).toEqual({ hello: "Succeeded" });
  });

  test("cancels no run that he may not cancel", async () => {
    const concurrency = { key: "one", onConflict: "CancelRunning" };
    await send(templates, template("exclusive", { steps: { hello } }));
    await send(workflows, workflow("older", { concurrency: { key: "one" }, steps: { wait: { approval: {} } } }));
    await patch(`${templates}/exclusive`, { spec: { concurrency } }, templateWriter);
    await send(workflows, workflow("newer", { templateRef: { name: "exclusive" } }));
    await goOn();
    expect((await plane.status("older"))["phase"]).toBe("Suspended");
  });

  test("takes no result that the administrator's own runs have left", async () => {
    const steps = { made: { ...hello, cache: { key: "shared" } } };
    await send(workflows, workflow("makes", { steps }));
    await send(templates, template("takes", { steps: { hello } }));
    await patch(`${templates}/takes`, { spec: { steps: { hello: null, ...steps } } }, editor);
    await send(workflows, workflow("takes", { templateRef: { name: "takes" } }));
    await goOn();
    expect(await plane.phases("makes")).toEqual({ made: "Succeeded" });
    expect(await plane.phases("takes")).toEqual({ made: "Succeeded" });
  });

  test("posts to no host of the server's own nets", async () => {
    let heard = 0;
    const hook = createServer((_request, response) => {
      heard += 1;
      response.end();
    });
    await new Promise<void>((listening) => hook.listen(0, "127.0.0.1", listening));
    const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}`;
    await send(templates, template("telling", { steps: { hello } }));
    await patch(`${templates}/telling`, { spec: { notifications: [{ on: ["Succeeded"], url }] } }, editor);
    await send(workflows, workflow("tells", { templateRef: { name: "telling" } }));
    await expect
      .poll(async () => {
        await plane.settle();
        return (await plane.status("tells"))["notifications"];
      })
      .toMatchObject({ owed: [{ problem: expect.stringContaining("not public") }] });
    await new Promise((closed) => hook.close(closed));
    expect(heard).toBe(0);
  });

  test("approves nothing in the name of an approver whose Workflow refers to it", async () => {
    const anna = { "Impersonate-User": "anna" };
    await send(`${rbac}/namespaces/default/rolebindings`, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "anna" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
      subjects: [{ kind: "User", name: "anna" }],
    });
    const approval = { approvers: [{ kind: "User", name: "anna" }] };
    await send(workflows, workflow("asking", { steps: { ask: { approval } } }));
    const target = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "asking" };
    const action = { action: "approve", step: "ask", target };
    const approve = {
      ownership: "Independent",
      template: { apiVersion: "slipway.dev/v1alpha1", kind: "RunAction", metadata: { name: "forged" }, spec: action },
    };
    await send(templates, template("annas", { steps: { hello } }), undefined, anna);
    await patch(`${templates}/annas`, { spec: { steps: { hello: null, approve } } }, editor);
    await send(workflows, workflow("annas", { templateRef: { name: "annas" } }), undefined, anna);
    await goOn();
    expect((await plane.get(`${runActions}/forged`)).status).toMatchObject({ phase: "Refused", by: "unverified" });
    expect(await plane.phases("asking")).toEqual({ ask: "Suspended" });
  });
});

describe("who has written a part of a run", () => {
  const changed = { steps: { hello, more: hello } };

  test("is noted beside those before, in whatever order they come", async () => {
    await send(templates, template("both", { steps: { hello } }), editor);
    const first = await noted(`${templates}/both`);
    expect(first).toEqual(editorNote);
    await patch(`${templates}/both`, { spec: changed });
    expect(await noted(`${templates}/both`)).toBe(first);
    await patch(`${templates}/both`, { spec: { parallelism: 2 } }, templateWriter);
    expect(JSON.parse(String(await noted(`${templates}/both`)))).toMatchObject([
      { user: "system:serviceaccount:default:editor" },
      { user: "system:serviceaccount:default:template-writer" },
    ]);
  });

  test("is only whoever has replaced all of it", async () => {
    const put = async () => {
      expect(await noted(`${templates}/both`)).toEqual(editorNote);
      const { metadata } = await plane.get(`${templates}/both`);
      const body = { ...template("both", { steps: { hello } }), metadata };
      return await plane.api.ask("PUT", `${templates}/both`, { body });
    };
    expect((await put()).status).toBe(200);
    expect(await noted(`${templates}/both`)).toBeUndefined();
  });

  test("cannot be changed by a client", async () => {
    await send(templates, template("kept", { steps: { hello } }), editor);
    const before = await noted(`${templates}/kept`);
    expect(before).toEqual(editorNote);
    await patch(`${templates}/kept`, { metadata: { annotations: { [note]: null } } }, editor);
    expect(await noted(`${templates}/kept`)).toBe(before);
  });

  test.each([
    ["label", { labels: { who: "editor" } }],
    ["time of its schedule", { annotations: { "slipway.dev/scheduled-at": "2026-01-01T00:00:00Z" } }],
  ])("is also whoever changes a %s that expressions read", async (what, metadata) => {
    const name = `reads-${what.split(" ")[0]}`;
    const text = "${{ workflow.labels[?'who'].orValue('') }}${{ schedule.time }}";
    const step = { ...seize(name), template: { ...seize(name).template, metadata: { name, annotations: { text } } } };
    await send(workflows, workflow(name, { suspend: true, steps: { seize: step } }));
    expect((await patch(`${workflows}/${name}`, { metadata }, editor)).status).toBe(200);
    await patch(`${workflows}/${name}`, { spec: { suspend: false } });
    await goOn();
    expect(await noted(`${workflows}/${name}`)).toEqual(editorNote);
    expect(await plane.phases(name)).toEqual({ seize: "Failed/Forbidden" });
    expect(await isSeized(name)).toBe(false);
  });

  test("is also whoever names a run whose results are taken over", async () => {
    await send(workflows, workflow("reuses", { suspend: true, steps: { hello } }));
    const annotations = { "slipway.dev/reuse-from": "x", "slipway.dev/resubmitted-from": "y" };
    await patch(`${workflows}/reuses`, { metadata: { annotations } }, editor);
    expect(await noted(`${workflows}/reuses`)).toEqual(editorNote);
  });
});

describe("a child Workflow", () => {
  const approval = { approvers: [{ kind: "User", name: "nobody" }] };
  const gate = { steps: { wait: { approval: {} }, ask: { approval, dependencies: ["wait"] } } };
  const steps = (name: string) => ({
    gate: { workflow: { spec: gate } },
    deploy: { ...seize(name), dependencies: ["gate"] },
  });

  test("whose approval an editor has removed lets its parent do no more than he may", async () => {
    await send(workflows, workflow("parent", { steps: steps("parent") }));
    await goOn();
    const child = String((await plane.status("parent"))["statuses"]?.["gate"]?.["reference"]?.["name"]);
    const answer = await patch(`${workflows}/${child}`, { spec: { steps: { ask: null } } }, editor);
    expect(answer.status, answer.text).toBe(200);
    const approved = await plane.act("passes", { action: "approve", step: "wait" }, child);
    expect(approved["phase"]).toBe("Done");
    await goOn();
    expect(await plane.phases("parent")).toEqual({ gate: "Succeeded", deploy: "Failed/Forbidden" });
    expect(await isSeized("parent")).toBe(false);
  });

  test("that an editor has put in the place of the real one does not, either", async () => {
    const held = { ...steps("replaced"), gate: { ...steps("").gate, dependencies: ["first"] } };
    await send(workflows, workflow("replaced", { steps: { first: { approval: {} }, ...held } }));
    const { metadata } = await plane.get(`${workflows}/replaced`);
    const uid = String(metadata?.["uid"]);
    const id = { workflow: "replaced", uid, step: "gate", attempt: 1 };
    const owner = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "replaced", uid, controller: true };
    const forged = { name: childName(id), labels: childLabels(id), ownerReferences: [owner] };
    await send(workflows, workflow("", { steps: { hello } }, { metadata: forged }), editor);
    await plane.act("begins", { action: "approve", step: "first" }, "replaced");
    await goOn();
    expect(await plane.phases("replaced")).toMatchObject({ gate: "Succeeded", deploy: "Failed/Forbidden" });
    expect(await isSeized("replaced")).toBe(false);
  });
});

describe("a status", () => {
  const approval = { approvers: [{ kind: "User", name: "nobody" }] };

  test("is given to nobody by roles for people", async () => {
    const statuses = ["pods", "jobs.batch", "workflows.slipway.dev", "builds.wharf.slipway.dev"];
    const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview" };
    const isAllowed = async (user: object, [resource = "", ...group]: readonly string[], subresource: string) => {
      const attributes = { namespace: "default", verb: "patch", resource, group: group.join("."), subresource };
      const spec = { ...user, resourceAttributes: attributes };
      const answer = await send("/apis/authorization.k8s.io/v1/subjectaccessreviews", { ...review, spec });
      return answer.status?.["allowed"];
    };
    await send(`${rbac}/namespaces/default/rolebindings`, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "ada" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "admin" },
      subjects: [{ kind: "User", name: "ada" }],
    });
    const people = [
      { user: "system:serviceaccount:default:editor" },
      { user: "ada" },
      { user: "olga", groups: ["slipway:operators"] },
    ];
    for (const person of people) {
      for (const kind of statuses)
        expect([kind, await isAllowed(person, kind.split("."), "status")]).toEqual([kind, false]);
      expect(await isAllowed(person, ["workflows", "slipway", "dev"], "")).toBe(true);
      expect(await isAllowed(person, ["workflowtemplates", "slipway", "dev"], "")).toBe(true);
    }
  });

  test.each([
    ["an editor", () => editor],
    ["somebody with a role for it", () => statusWriter],
  ])("of a run is not written by %s", async (who, token) => {
    const name = who.split(" ")[0] ?? "";
    await send(
      templates,
      template(`${name}-t`, { steps: { ask: { approval }, hello: { ...hello, dependencies: ["ask"] } } }),
    );
    await send(workflows, workflow(name, { templateRef: { name: `${name}-t` } }));
    expect(await plane.phases(name)).toMatchObject({ ask: "Suspended" });
    const attempts: readonly object[] = [
      { status: { resolvedSpec: { steps: { seize: seize(name) } } } },
      { status: { statuses: { ask: { phase: "Succeeded" } } } },
      { status: { actsFor: [] } },
    ];
    for (const body of attempts) {
      const answer = await patch(`${workflows}/${name}/status`, body, token());
      expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("forbidden")]);
    }
    const headers = types.apply;
    const applied = { ...workflow(name, undefined), status: { statuses: { ask: { phase: "Succeeded" } } } };
    const path = `${workflows}/${name}/status?fieldManager=x&force=true`;
    const answer = await plane.api.ask("PATCH", path, { bytes: JSON.stringify(applied), headers, token: token() });
    expect(answer.status).toBe(403);
    await patch(`${workflows}/${name}`, { metadata: { labels: { a: "b" } } }, token());
    await goOn();
    expect(await plane.phases(name)).toMatchObject({ ask: "Suspended" });
    expect(await isSeized(name)).toBe(false);
  });

  test("of an action is not written by somebody with a role for it", async () => {
    await send(workflows, workflow("forging", { suspend: true, steps: { ask: { approval } } }));
    const target = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "elsewhere" };
    const spec = { target, action: "approve", step: "ask" };
    const body = { apiVersion: "slipway.dev/v1alpha1", kind: "RunAction", metadata: { name: "forging" }, spec };
    await send(runActions, body, statusWriter);
    for (const status of [{ by: "nobody" }, { groups: ["release"] }, { by: null }]) {
      const answer = await patch(`${runActions}/forging/status`, { status }, statusWriter);
      expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("written by its controllers alone")]);
    }
  });

  test("is written by administrators, whoever has made them that", async () => {
    const user = "root";
    await send(`${rbac}/clusterrolebindings`, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: user },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "User", name: user }],
    });
    await send(workflows, workflow("written", { steps: { ask: { approval } } }));
    const bytes = JSON.stringify({ status: { message: "looked at" } });
    const headers = { ...types.merge, "Impersonate-User": user };
    expect((await plane.api.ask("PATCH", `${workflows}/written/status`, { bytes, headers })).status).toBe(200);
  });
});
