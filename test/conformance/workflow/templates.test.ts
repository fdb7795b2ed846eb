import { afterAll, beforeAll, expect, test } from "vitest";
import { jobs, types, workflow, WorkflowPlane, workflows } from "./control-plane.ts";

// Templates as clients of the API meet them, over HTTPS.

const templates = "/apis/slipway.dev/v1alpha1/namespaces/default/workflowtemplates";
const box = { container: { image: "busybox", command: ["true"] } };
const template = (name: string, spec: object) => ({ ...workflow(name, spec), kind: "WorkflowTemplate" });
const params = [
  { name: "site", type: "string", required: true },
  { name: "count", type: "integer", default: 1 },
];

let plane: WorkflowPlane;
const send = async (path: string, body: object, headers = {}) => {
  const answer = await plane.api.ask("POST", path, { body, headers });
  await plane.settle();
  return answer;
};
beforeAll(async () => {
  plane = await WorkflowPlane.start();
});
afterAll(() => plane.close());

test("a template is stored and listed, and a wrong one is refused with every cause", async () => {
  expect((await send(templates, template("listed", { params, steps: { a: box } }))).status).toBe(201);
  const headers = { Accept: "application/json;as=Table;g=meta.k8s.io;v=v1" };
  const { json } = await plane.api.ask("GET", templates, { headers });
  expect(json).toMatchObject({ rows: [{ cells: ["listed", expect.any(String)] }] });
  const refused = await send(templates, template("wrong", { params, arguments: { site: "x" }, steps: { a: {} } }));
  expect(refused.status).toBe(422);
  expect(refused.json).toMatchObject({
    details: { causes: [{ field: "spec.arguments" }, { field: "spec.steps.a" }] },
  });
});

test("a run waits for its template, keeps to it, and refuses other arguments once it has started", async () => {
  const spec = { templateRef: { name: "late" }, arguments: { site: "edge" } };
  expect((await send(workflows, workflow("run", spec))).status).toBe(201);
  const condition = async () => (await plane.get(`${workflows}/run`)).status?.["conditions"];
  expect(await condition()).toMatchObject([{ type: "Invalid", status: "True", reason: "TemplateNotFound" }]);
  await send(templates, template("late", { params, steps: { a: box } }));
  await plane.pass(1_000);
  expect(await plane.phases("run")).toMatchObject({ a: "Running" });
  await plane.api.ask("DELETE", `${templates}/late`);
  const bytes = JSON.stringify({ spec: { arguments: { site: "other" } } });
  const answer = await plane.api.ask("PATCH", `${workflows}/run`, { bytes, headers: types.merge });
  expect(answer.status).toBe(422);
  expect((await plane.get(`${workflows}/run`)).status?.["resolvedSpec"]).toEqual({
    params,
    arguments: { site: "edge" },
    steps: { a: box },
  });
});

test("a template is read with the rights of whoever wrote the workflow", async () => {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const typed = (kind: string) => ({ apiVersion: "rbac.authorization.k8s.io/v1", kind, metadata: { name: "starter" } });
  const rules = [{ verbs: ["get", "create"], apiGroups: ["slipway.dev"], resources: ["workflows"] }];
  await send(`${rbac}/clusterroles`, { ...typed("ClusterRole"), rules });
  await send(`${rbac}/namespaces/default/rolebindings`, {
    ...typed("RoleBinding"),
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "starter" },
    subjects: [{ kind: "User", name: "starter" }],
  });
  await send(templates, template("hidden", { steps: { secret: box } }));
  const before = (await plane.list(jobs)).length;
  const spec = { templateRef: { name: "hidden" } };
  await send(workflows, workflow("curious", spec), { "Impersonate-User": "starter" });
  const { status } = await plane.get(`${workflows}/curious`);
  expect(status).toMatchObject({ conditions: [{ type: "Invalid", reason: "Forbidden" }] });
  expect(JSON.stringify(status)).not.toContain("secret");
  expect(await plane.list(jobs)).toHaveLength(before);
});
