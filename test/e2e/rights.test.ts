import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { writeYaml } from "#lib/yaml/index.ts";
import {
  endRunner,
  exec,
  type Finished,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// `slipway up` with its administrator and eve, who has a credential and the ClusterRole `edit` in the namespace. She uses kubectl.

let directory: string;
let server: TestServer;

const kubectl = (who: "admin" | "eve", words: readonly string[], input?: JsonObject): Promise<Finished> => {
  const file = who === "admin" ? server.kubeconfig : join(directory, "eve.kubeconfig");
  return exec("kubectl", ["--kubeconfig", file, ...words], input === undefined ? {} : { input: writeYaml(input) });
};
const must = async (...call: Parameters<typeof kubectl>): Promise<string> => {
  const { code, out, err } = await kubectl(...call);
  expect(code, err).toBe(0);
  return out;
};
const apply = (kind: string, name: string, spec: JsonObject) =>
  must("admin", ["apply", "-f", "-"], { apiVersion: "slipway.dev/v1alpha1", kind, metadata: { name }, spec });
const merge = (...words: readonly string[]) => [
  "patch",
  ...words.slice(0, -1),
  "--type=merge",
  "-p",
  words.at(-1) ?? "",
];
const waitFor = (name: string, condition: string) =>
  must("admin", ["wait", `--for=${condition}`, `workflows.slipway.dev/${name}`, "--timeout=90s"]);
const step = (name: string, key: string) =>
  must("admin", [
    "get",
    "workflows.slipway.dev",
    name,
    "-o",
    `jsonpath={.status.statuses.${key}.phase}/{.status.statuses.${key}.reason}`,
  ]);

beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(join(directory, "data"));
  const credential = ["credential", "create", "--user", "eve", "--to", join(directory, "eve.kubeconfig")];
  const made = await slipway(credential, { env: { SLIPWAY_KUBECONFIG: server.kubeconfig } });
  expect(made.code, made.err).toBe(0);
  await must("admin", ["create", "rolebinding", "eve", "--clusterrole=edit", "--user=eve"]);
});
afterAll(async () => {
  await server.stop();
  await endRunner(server.directory);
  await removeDirectory(directory);
});

const hello = { template: { apiVersion: "v1", kind: "ConfigMap" } };
const seize = {
  ownership: "Independent",
  template: {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "eve-root" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "eve" }],
  },
};
const isSeized = async () => (await kubectl("admin", ["get", "clusterrolebinding", "eve-root"])).code === 0;

test("a template that an editor has changed gives her nothing of what its user may do", async () => {
  await apply("WorkflowTemplate", "shared", { steps: { hello } });
  await must("eve", merge("wft", "shared", JSON.stringify({ spec: { steps: { hello: null, seize } } })));
  await apply("Workflow", "refers", { templateRef: { name: "shared" } });
  await waitFor("refers", "condition=Failed");
  expect(await step("refers", "seize")).toBe("Failed/Forbidden");
  expect(await isSeized()).toBe(false);
});

test("an editor writes no status: no specification, no end of an approval, no approver", async () => {
  const approvers = [{ kind: "User", name: "anna" }];
  const steps = { ask: { approval: { approvers } }, hello: { ...hello, dependencies: ["ask"] } };
  await apply("WorkflowTemplate", "asking", { steps });
  await apply("Workflow", "asking", { templateRef: { name: "asking" } });
  await waitFor("asking", "jsonpath={.status.phase}=Suspended");
  const statuses = [
    { resolvedSpec: { steps: { seize } } },
    { statuses: { ask: { phase: "Succeeded" } } },
    { statuses: { ask: { approvals: [{ by: "anna", time: "2026-01-01T00:00:00Z" }] } } },
  ];
  for (const status of statuses) {
    const patch = merge("workflows.slipway.dev", "asking", "--subresource=status", JSON.stringify({ status }));
    const { code, err } = await kubectl("eve", patch);
    expect([code, err]).toEqual([1, expect.stringContaining('cannot patch resource "workflows/status"')]);
  }
  await must("eve", ["label", "workflows.slipway.dev", "asking", "a=b"]);
  const answer = await slipway(["approve", "asking", "ask"], {
    env: { SLIPWAY_KUBECONFIG: join(directory, "eve.kubeconfig") },
  });
  expect(answer).toMatchObject({ code: 1, err: expect.stringContaining("user eve is no approver of this step") });
  expect(await step("asking", "ask")).toMatch(/^Suspended/);
  expect(await isSeized()).toBe(false);
});

test("statuses that decide what agents, workers and builds do are not written by a role that has them", async () => {
  await must("admin", ["apply", "-f", "-"], {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "statuses" },
    rules: [{ apiGroups: ["tinkerbell.org", "wharf.slipway.dev", "slipway.dev"], resources: ["*"], verbs: ["*"] }],
  });
  await must("admin", ["create", "rolebinding", "statuses", "--role=statuses", "--user=eve"]);
  const objects: readonly (readonly [string, JsonObject, JsonObject])[] = [
    ["Workflow.v1alpha1.tinkerbell.org", { hardwareMap: { device_1: "x" } }, { state: "SUCCESS" }],
    ["Build.v1alpha1.wharf.slipway.dev", { project: "none" }, { status: "Completed" }],
    ["Worker.v1alpha1.wharf.slipway.dev", { buildRef: 7 }, { process: { host: "x", pid: 1 } }],
  ];
  for (const [type, spec, status] of objects) {
    const [kind = "", version = "", ...group] = type.split(".");
    const apiVersion = `${group.join(".")}/${version}`;
    await must("eve", ["create", "-f", "-"], { apiVersion, kind, metadata: { name: "forged" }, spec });
    const words = [type, "forged", "--subresource=status"] as const;
    const { code, err } = await kubectl("eve", merge(...words, JSON.stringify({ status })));
    expect([code, err], type).toEqual([1, expect.stringContaining("its status is written by its controllers alone")]);
    await must("admin", merge(...words, JSON.stringify({ status })));
    await must("admin", ["delete", type, "forged", "--wait=false"]);
  }
});
