import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Json } from "#kernel/apiserver/testing/index.ts";
import { runActions, types, WorkflowPlane, workflows } from "../control-plane.ts";
import { conditionIn, Kubelet } from "../kubelet.ts";
import { createKind, putStatus } from "../other-kinds.ts";

// Line 36 of the acceptance list: one workflow that spans all groups. The controllers of the others are this test.

const name = "edge-site-17";
let plane: WorkflowPlane;
let kubelet: Kubelet;
beforeEach(async () => {
  plane = await WorkflowPlane.start();
  kubelet = new Kubelet(plane);
});
afterEach(() => plane.close());

/** Lets people of the group act. */
async function allowRelease(): Promise<void> {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const typed = (kind: string) => ({ apiVersion: "rbac.authorization.k8s.io/v1", kind, metadata: { name: "release" } });
  const rules = [{ verbs: ["create"], apiGroups: ["slipway.dev"], resources: ["runactions"] }];
  await plane.api.ask("POST", `${rbac}/clusterroles`, { body: { ...typed("ClusterRole"), rules } });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "release" };
  const subjects = [{ kind: "Group", name: "release" }];
  const body = { ...typed("RoleBinding"), roleRef, subjects };
  await plane.api.ask("POST", `${rbac}/namespaces/default/rolebindings`, { body });
}

const complete = { conditions: [{ type: "Complete", status: "True" }] };

test("line 36: the example of all groups runs to the approval and, after it, to Complete", async () => {
  const machines = await createKind(plane, "rebar.slipway.dev", "MachineRun", "v1alpha1");
  const hardware = await createKind(plane, "tinkerbell.org", "Workflow", "v1alpha1");
  const builds = await createKind(plane, "wharf.slipway.dev", "Build", "v1alpha1");
  const applications = await createKind(plane, "core.oam.dev", "Application", "v1beta1");
  await allowRelease();
  const only = async (kind: string): Promise<Json> => {
    const found = await plane.list(kind);
    expect(found, kind).toHaveLength(1);
    return found[0] as Json;
  };
  const end = async (kind: string, status: object) => {
    await putStatus(plane, `${kind}/${String((await only(kind))["metadata"]?.["name"])}`, status);
    await plane.pass(1_000);
  };

  const bytes = await readFile(join(import.meta.dirname, "edge-site.yaml"));
  const applied = await plane.api.ask("PATCH", `${workflows}/${name}?fieldManager=test`, {
    bytes,
    headers: types.apply,
  });
  expect(applied.status, applied.text).toBe(201);
  await plane.pass(1_000);
  expect(await plane.phases(name)).toEqual({
    network: "Waiting/ReferenceNotFound",
    provision: "Running",
    build: "Running",
  });
  expect((await only(hardware))["spec"]).toEqual({
    templateRef: "ubuntu-noble",
    hardwareRef: "edge-17",
    hardwareMap: { device_1: "52:54:00:aa:bb:cc" },
  });
  // The first build fails and is tried again, under another name.
  await end(builds, { conditions: [{ type: "Failed", status: "True", reason: "CompileError" }] });
  await plane.pass(12_000);
  const second = (await plane.list(builds)).find(
    ({ metadata }) => metadata?.["labels"]?.["slipway.dev/attempt"] === ("2" as unknown),
  );
  const image = "registry.example/edge-app@sha256:7";
  await putStatus(plane, `${builds}/${String(second?.["metadata"]?.["name"])}`, { ...complete, outputs: { image } });
  await plane.create("site-17-network", { steps: { cable: { container: { image: "busybox" } } } });
  await kubelet.end("cable");
  await end(hardware, { state: "SUCCESS" });
  expect((await only(machines))["spec"]).toEqual({ machine: "edge-17", workflow: "edge-base" });
  await end(machines, complete);

  // Probes, two at a time.
  expect(await kubelet.steps()).toEqual(["smoke", "smoke"]);
  await kubelet.endAll();
  expect(await plane.phases(name)).toMatchObject({ smoke: "Succeeded", approve: "Suspended" });
  expect(await plane.status(name)).toMatchObject({
    phase: "Suspended",
    statuses: { approve: { message: expect.stringContaining(`Deploy ${image}?`) } },
  });
  expect(await plane.list(applications)).toEqual([]);

  const target = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name };
  const spec = { target, action: "approve", step: "approve" };
  const action = { apiVersion: target.apiVersion, kind: "RunAction", metadata: { name: "yes" }, spec };
  const headers = { "Impersonate-User": "anna", "Impersonate-Group": "release" };
  const answer = await plane.api.ask("POST", runActions, { body: action, headers });
  expect(answer.status, answer.text).toBe(201);
  await plane.pass(1_000);
  const application = await only(applications);
  expect(application["spec"]).toMatchObject({ components: [{ properties: { image, port: 8080 } }] });
  expect(application["metadata"]).not.toHaveProperty("ownerReferences");
  await end(applications, {
    status: "running",
    observedGeneration: application["metadata"]?.["generation"],
    workflow: { finished: true },
  });
  // The report cannot be sent, which is forgiven.
  await kubelet.end("report", { exitCode: 22 });
  const status = await plane.status(name);
  expect(status).toMatchObject({ phase: "Succeeded", progress: "8/8" });
  expect(conditionIn(status, "Complete")).toMatchObject({ status: "True" });
});
