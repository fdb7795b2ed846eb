import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { jobs, types, workflow, workflows, WorkflowPlane } from "./control-plane.ts";

// The controllers of this process may do everything. What they do because a workflow says so is what its writer may do: else the right
// to write workflows would be every right there is.

let plane: WorkflowPlane;
const note = "slipway.dev/acts-for";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const typed = (kind: string) => ({ apiVersion: "rbac.authorization.k8s.io/v1", kind });
const as = (user: string) => ({ "Impersonate-User": user });
const send = async (path: string, body: object, headers = {}) => {
  const answer = await plane.api.ask("POST", path, { body, headers });
  if (answer.status >= 300) throw new Error(answer.text);
  await plane.settle();
};

beforeAll(async () => {
  plane = await WorkflowPlane.start();
  const rules = [
    { verbs: ["get", "create", "update", "patch"], apiGroups: ["slipway.dev"], resources: ["workflows"] },
    { verbs: ["create"], apiGroups: ["slipway.dev"], resources: ["scheduledworkflows"] },
    { verbs: ["create"], apiGroups: ["batch"], resources: ["jobs"] },
    { verbs: ["create", "get"], apiGroups: [""], resources: ["configmaps"] },
  ];
  await send(`${rbac}/clusterroles`, { ...typed("ClusterRole"), metadata: { name: "writer" }, rules });
  await send(`${rbac}/namespaces/default/rolebindings`, {
    ...typed("RoleBinding"),
    metadata: { name: "writer" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "writer" },
    subjects: [{ kind: "User", name: "writer" }],
  });
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "hidden" },
    stringData: { word: "hidden-word" },
  };
  await send("/api/v1/namespaces/default/secrets", secret);
});
afterAll(() => plane.close());

const container = { image: "busybox", command: ["true"] };
const binding = {
  ownership: "Independent",
  template: {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "everything" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "User", name: "writer" }],
  },
};
const hostPath = {
  jobTemplate: {
    spec: {
      template: {
        spec: {
          restartPolicy: "Never",
          // Written as an expression, so that nothing is to be seen when the workflow is stored.
          volumes: `\${{ [{"name": "etc", "hostPath": {"path": "/etc"}}] }}`,
          containers: [{ name: "main", ...container }],
        },
      },
    },
  },
};
const readSecret = {
  externalRef: { apiVersion: "v1", kind: "Secret", name: "hidden" },
  outputs: { word: { expression: "object.data.word" } },
};
const configMap = {
  ownership: "Independent",
  template: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "allowed" }, data: { a: "b" } },
};

/** For whom the controller acts when it carries out that workflow. */
const noted = async (name: string) => {
  const { metadata } = await plane.get(`${workflows}/${name}`);
  return metadata?.["annotations"]?.[note];
};
const his = JSON.stringify({ user: "writer", groups: ["system:authenticated"] });

describe("a workflow of somebody who may do little", () => {
  test("does what he may do, and nothing else", async () => {
    const steps = { binding, hostPath, readSecret, configMap, job: { container } };
    await send(workflows, workflow("little", { steps, failFast: false }), as("writer"));
    await plane.pass(2_000);
    const found = await plane.get(`${workflows}/little`);
    expect(await plane.phases("little")).toMatchObject({
      binding: "Failed/Forbidden",
      hostPath: "Failed/Forbidden",
      readSecret: "Failed/Forbidden",
      configMap: "Succeeded",
      job: "Running",
    });
    expect(JSON.stringify(found)).not.toContain(Buffer.from("hidden-word").toString("base64"));
    expect(await plane.list(`${rbac}/namespaces/default/rolebindings`)).toHaveLength(1);
    expect(await plane.list(jobs)).toHaveLength(1);
  });

  test("that has another workflow created stays his", async () => {
    const template = workflow("inner", { steps: { binding } });
    await send(workflows, workflow("outer", { steps: { inner: { template } } }), as("writer"));
    await plane.pass(2_000);
    expect(await plane.phases("inner")).toEqual({ binding: "Failed/Forbidden" });
  });

  test("that a schedule of his creates is his", async () => {
    const spec = { schedule: "* * * * *", workflowTemplate: { spec: { steps: { binding } } } };
    const schedule = { ...workflow("tick", spec), kind: "ScheduledWorkflow" };
    await send("/apis/slipway.dev/v1alpha1/namespaces/default/scheduledworkflows", schedule, as("writer"));
    await plane.pass(60_000);
    const runs = (await plane.list(workflows)).map(({ metadata }) => String(metadata?.["name"]));
    const run = runs.find((name) => name.startsWith("tick-")) ?? "";
    expect(await noted(run)).toBe(his);
    expect(await plane.phases(run)).toEqual({ binding: "Failed/Forbidden" });
  });
});

describe("the writer of a workflow", () => {
  const spec = { suspend: true, steps: { one: { container } } };

  test("cannot be chosen, neither at first nor later", async () => {
    const forged = JSON.stringify({ user: "somebody", groups: ["system:masters"] });
    const annotated = (value: string | null) => ({ metadata: { annotations: { [note]: value, other: "1" } } });
    const body = workflow("forged", spec, { metadata: { name: "forged", ...annotated(forged).metadata } });
    await send(workflows, body, as("writer"));
    expect(await noted("forged")).toBe(his);
    for (const value of [forged, null, ""]) {
      const bytes = JSON.stringify(annotated(value));
      for (const headers of [types.merge, { ...types.merge, ...as("writer") }])
        await plane.api.ask("PATCH", `${workflows}/forged`, { bytes, headers });
      expect(await noted("forged")).toBe(his);
    }
  });

  test("is whoever changed what is done, not who held it up", async () => {
    await send(workflows, workflow("changed", spec));
    expect(await noted("changed")).toBeUndefined();
    const change = async (body: object) => {
      const headers = { ...types.merge, ...as("writer") };
      const answer = await plane.api.ask("PATCH", `${workflows}/changed`, { bytes: JSON.stringify(body), headers });
      expect(answer.status).toBe(200);
    };
    await change({ spec: { suspend: false } });
    await change({ spec: { suspend: true } });
    expect(await noted("changed")).toBeUndefined();
    await change({ spec: { steps: { two: { container } } } });
    expect(await noted("changed")).toBe(his);
    const bytes = JSON.stringify({ spec: { steps: { three: { container } } } });
    await plane.api.ask("PATCH", `${workflows}/changed`, { bytes, headers: types.merge });
    expect(await noted("changed")).toBe(his);
    const { metadata } = await plane.get(`${workflows}/changed`);
    const steps = { one: { container }, two: { container }, four: { container } };
    const body = workflow("changed", { suspend: true, steps }, { metadata });
    expect((await plane.api.ask("PUT", `${workflows}/changed`, { body })).status).toBe(200);
    expect(await noted("changed")).toBeUndefined();
  });
});

describe("the result of a step", () => {
  const entries = "/apis/slipway.dev/v1alpha1/namespaces/default/cacheentries";
  const made = { template: { apiVersion: "v1", kind: "ConfigMap" }, cache: { key: "k" } };

  test("that a controller has stored is taken, and cannot be changed by anybody", async () => {
    await send(workflows, workflow("makes", { steps: { made } }));
    await send(workflows, workflow("takes", { steps: { made } }));
    expect(await plane.phases("takes")).toEqual({ made: "Succeeded/Cached" });
    const [entry] = await plane.list(entries);
    const bytes = JSON.stringify({ spec: { outputs: { forged: true } } });
    const path = `${entries}/${String(entry?.metadata?.["name"])}`;
    const answer = await plane.api.ask("PATCH", path, { bytes, headers: types.merge });
    expect(answer.status).toBe(422);
    expect(answer.text).toContain("an entry cannot be changed");
  });

  test("that somebody else has written is never taken", async () => {
    const [entry] = await plane.list(entries);
    const name = entry?.metadata?.["name"];
    await plane.api.ask("DELETE", `${entries}/${String(name)}`);
    const forged = { ...entry, metadata: { name } };
    await send(entries, forged);
    expect(await plane.get(`${entries}/${String(name)}`)).toMatchObject({ spec: { writtenBy: expect.any(String) } });
    await send(workflows, workflow("careful", { steps: { made } }));
    expect(await plane.phases("careful")).toEqual({ made: "Succeeded" });
  });
});

describe("a notification", () => {
  let hook: Server;
  let heard = 0;
  let url: string;
  beforeAll(async () => {
    hook = createServer((_request, response) => {
      heard++;
      response.writeHead(204).end();
    });
    await new Promise<void>((listening) => hook.listen(0, "127.0.0.1", listening));
    url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((closed) => hook.close(closed)));

  const telling = (name: string) =>
    workflow(name, { suspend: false, steps: { one: { container } }, notifications: [{ on: ["Started"], url }] });
  const isTold = (name: string, wanted: object) =>
    expect
      .poll(async () => {
        await plane.settle();
        return (await plane.get(`${workflows}/${name}`)).status?.["notifications"];
      })
      .toMatchObject(wanted);

  test("of an administrator reaches this machine, one of somebody else only with the right to", async () => {
    await send(workflows, telling("told-by-admin"));
    await isTold("told-by-admin", { delivered: 1 });
    await send(workflows, telling("told-by-writer"), as("writer"));
    await isTold("told-by-writer", { owed: [{ problem: expect.stringContaining("not public") }] });
    expect(heard).toBe(1);
    const rules = [
      { verbs: ["use"], apiGroups: ["slipway.dev"], resources: ["notificationtargets"], resourceNames: ["127.0.0.1"] },
    ];
    await send(`${rbac}/namespaces/default/roles`, { ...typed("Role"), metadata: { name: "hook" }, rules });
    await send(`${rbac}/namespaces/default/rolebindings`, {
      ...typed("RoleBinding"),
      metadata: { name: "hook" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "hook" },
      subjects: [{ kind: "User", name: "writer" }],
    });
    await plane.pass(2_000);
    await isTold("told-by-writer", { delivered: 1 });
    expect(heard).toBe(2);
  });
});
