import { chaosClient, seededRandom } from "#kernel/kit/testing/index.ts";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runs } from "#test/support/property-runs.ts";
import { types, workflow, workflows, WorkflowPlane } from "./control-plane.ts";

// `operation: Apply` against the server that `slipway up` has: its server-side apply, its generations, its refusals.

let plane: WorkflowPlane;
const maps = "/api/v1/namespaces/default/configmaps";
const widgets = "/apis/example.com/v1/namespaces/default/widgets";
const free = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", properties: { spec: free, status: free } } },
      },
    ],
  },
};

beforeAll(async () => {
  plane = await WorkflowPlane.start();
  await plane.api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", { body: definition });
  await plane.settle();
});
afterAll(() => plane.close());

const applies = (template: object, more: object = {}) => ({ operation: "Apply", template, ...more });
const widget = (name: string, spec: object = {}) => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name },
  spec,
});
const configMap = (name: string, data: object) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data });

/** Writes a Widget as a person does, with kubectl's name. */
const edit = async (name: string, body: object) => {
  const query = "?fieldManager=kubectl-edit";
  const answer = await plane.api.ask("PATCH", `${widgets}/${name}${query}`, {
    bytes: JSON.stringify(body),
    headers: types.merge,
  });
  if (answer.status !== 200) throw new Error(answer.text);
  await plane.settle();
};
/** Writes the status of a Widget as its controller does. */
const tell = async (name: string, status: object) => {
  const answer = await plane.api.ask("PATCH", `${widgets}/${name}/status`, {
    bytes: JSON.stringify({ status }),
    headers: types.merge,
  });
  if (answer.status !== 200) throw new Error(answer.text);
  await plane.settle();
};
const complete = (observedGeneration: number) => ({
  conditions: [{ type: "Complete", status: "True", observedGeneration }],
});
const metadataOf = async (path: string) => (await plane.get(path)).metadata;
const stepOf = async (name: string, step: string) => (await plane.status(name))["statuses"]?.[step];

test("what is applied is made where it is missing, changed where it is there, and is nobody's child", async () => {
  const spec = (color: string) => ({ steps: { put: applies(configMap("colours", { color })) } });
  await plane.create("first", spec("red"));
  expect(await plane.phases("first")).toEqual({ put: "Succeeded" });
  const made = await metadataOf(`${maps}/colours`);
  expect([made?.["ownerReferences"], made?.["labels"]]).toEqual([undefined, undefined]);
  expect(made?.["managedFields"]).toMatchObject([{ manager: "slipway-workflow", operation: "Apply" }]);
  await plane.create("second", spec("blue"));
  expect(await plane.phases("second")).toEqual({ put: "Succeeded" });
  const found = await plane.get(`${maps}/colours`);
  expect([found["data"], found.metadata?.["uid"]]).toEqual([{ color: "blue" }, made?.["uid"]]);
  await plane.api.ask("DELETE", `${workflows}/second`);
  await plane.pass(1_000);
  expect((await plane.api.ask("GET", `${workflows}/second`)).status).toBe(404);
  expect((await plane.api.ask("GET", `${maps}/colours`)).status).toBe(200);
});

test("an outcome of before the apply is none: neither a condition nor a whole status that is older", async () => {
  await plane.api.ask("POST", widgets, { body: widget("old", { size: 1 }) });
  await tell("old", { ...complete(1), observedGeneration: 1, phase: "Done" });
  const put = (more: object = {}) => applies(widget("old", { color: "red" }), more);
  const byPhase = put({ completion: { success: 'object.status.phase == "Done"' } });
  await plane.create("waits", { steps: { byCondition: put(), byPhase } });
  expect(await plane.phases("waits")).toEqual({ byCondition: "Running", byPhase: "Running" });
  expect(await stepOf("waits", "byCondition")).toMatchObject({ reference: { name: "old", generation: 2 } });
  // Another one changes it meanwhile: what counts is the generation that was applied, not the newest one.
  await edit("old", { spec: { size: 2 } });
  await tell("old", { ...complete(2), observedGeneration: 2 });
  expect(await plane.phases("waits")).toEqual({ byCondition: "Succeeded", byPhase: "Succeeded" });
});

test("a run that is submitted again with reuse applies again: others may have changed the object since", async () => {
  const spec = (color: string) => ({ steps: { put: applies(configMap("reused", { color })) } });
  await plane.create("former", spec("red"));
  await plane.create("between", spec("blue"));
  const uid = String((await metadataOf(`${workflows}/former`))?.["uid"]);
  const annotations = { "slipway.dev/resubmitted-from": "former", "slipway.dev/reuse-from": uid };
  await plane.create("latter", spec("red"), { metadata: { name: "latter", annotations } });
  expect(await plane.phases("latter")).toEqual({ put: "Succeeded" });
  expect((await plane.get(`${maps}/reused`))["data"]).toEqual({ color: "red" });
});

test("what was so already is done at once", async () => {
  await plane.api.ask("POST", widgets, { body: widget("same", { size: 1 }) });
  await tell("same", complete(1));
  await plane.create("again", { steps: { put: applies(widget("same", { size: 1 })) } });
  expect(await plane.phases("again")).toEqual({ put: "Succeeded" });
});

describe("fields that others manage", () => {
  test("fail the step in the server's words, and are taken over on demand", async () => {
    await plane.api.ask("POST", widgets, { body: widget("shared") });
    await edit("shared", { spec: { size: 1 } });
    await plane.create("polite", { steps: { put: applies(widget("shared", { size: 2 }), { retry: { limit: 3 } }) } });
    expect(await plane.phases("polite")).toEqual({ put: "Failed/FieldManagerConflict" });
    expect(await stepOf("polite", "put")).toMatchObject({
      attempt: 1,
      message: 'Apply failed with 1 conflict: conflict with "kubectl-edit" using example.com/v1: .spec.size',
    });
    await plane.create("forceful", {
      steps: { put: applies(widget("shared", { size: 2 }), { force: true, completion: "Created" }) },
    });
    expect(await plane.phases("forceful")).toEqual({ put: "Succeeded" });
    expect((await plane.get(`${widgets}/shared`))["spec"]).toEqual({ size: 2 });
  });
});

describe("an object that is applied", () => {
  test("stays when its step is cancelled or takes too long, unless it is Owned", async () => {
    await plane.create("ends", {
      steps: {
        left: applies(widget("left")),
        late: applies(widget("late"), { timeoutSeconds: 5 }),
        owned: applies(widget("owned"), { ownership: "Owned" }),
      },
    });
    expect((await metadataOf(`${widgets}/owned`))?.["ownerReferences"]).toMatchObject([{ name: "ends" }]);
    await plane.pass(6_000);
    expect(await plane.phases("ends")).toEqual({ left: "Running", late: "Failed/Timeout", owned: "Running" });
    await plane.act("stop", { action: "cancel" }, "ends");
    await plane.pass(1_000);
    expect(await plane.phases("ends")).toMatchObject({ left: "Canceled/RunCanceled", owned: "Canceled/RunCanceled" });
    const found = (await plane.list(widgets)).map(({ metadata }) => String(metadata?.["name"]));
    expect(found).toEqual(expect.arrayContaining(["late", "left"]));
    expect(found).not.toContain("owned");
  });

  test("is applied again by a further attempt, and missed when somebody deletes it", async () => {
    await plane.create("twice", {
      steps: { put: applies(widget("gone"), { retry: { limit: 1, initialSeconds: 1, on: ["Lost"] } }) },
    });
    const uid = (await metadataOf(`${widgets}/gone`))?.["uid"];
    await plane.api.ask("DELETE", `${widgets}/gone`);
    await plane.pass(2_000);
    expect(await stepOf("twice", "put")).toMatchObject({ phase: "Running", attempt: 2 });
    expect((await metadataOf(`${widgets}/gone`))?.["uid"]).not.toBe(uid);
    await tell("gone", complete(1));
    expect(await plane.phases("twice")).toEqual({ put: "Succeeded" });
  });

  test("may have a place of its own for every item", async () => {
    const item = applies(widget(`site-\${{ item }}`, { site: `\${{ item }}` }), {
      forEach: { items: ["a", "b"] },
      outputs: { site: { expression: "object.spec.site" } },
    });
    await plane.create("fan", { steps: { put: item } });
    await tell("site-a", complete(1));
    expect(await stepOf("fan", "put")).toMatchObject({ items: { states: "1S1R" } });
    await tell("site-b", complete(1));
    expect(await stepOf("fan", "put")).toMatchObject({ phase: "Succeeded", outputs: { site: ["a", "b"] } });
  });

  test("may be of a kind without namespaces", async () => {
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "applied" },
      rules: [],
    };
    const named = (name: string) => ({ ...role, metadata: { name } });
    const steps = {
      put: applies(role),
      alone: { ownership: "Independent", template: named("alone") },
      owned: { template: named("owned") },
    };
    await plane.create("cluster", { steps });
    expect(await plane.phases("cluster")).toEqual({ put: "Succeeded", alone: "Succeeded", owned: "Succeeded" });
    await plane.pass(60_000);
    // An owner in a namespace is none for what is in no namespace: nobody collects it.
    const roles = await plane.list("/apis/rbac.authorization.k8s.io/v1/clusterroles");
    const names = roles.map(({ metadata }) => String(metadata?.["name"]));
    expect(names).toEqual(expect.arrayContaining(["alone", "applied", "owned"]));
  });
});

test("a writer applies with his own rights", async () => {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const typed = (kind: string) => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind,
    metadata: { name: "applier" },
  });
  const rules = [
    { verbs: ["create"], apiGroups: ["slipway.dev"], resources: ["workflows"] },
    { verbs: ["create", "patch"], apiGroups: ["example.com"], resources: ["widgets"] },
  ];
  await plane.api.ask("POST", `${rbac}/clusterroles`, { body: { ...typed("ClusterRole"), rules } });
  await plane.api.ask("POST", `${rbac}/namespaces/default/rolebindings`, {
    body: {
      ...typed("RoleBinding"),
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "applier" },
      subjects: [{ kind: "User", name: "applier" }],
    },
  });
  await plane.settle();
  const steps = {
    may: applies(widget("his"), { completion: "Created" }),
    mayNot: applies(configMap("colours", { color: "his" }), { force: true }),
  };
  const body = workflow("his", { steps });
  await plane.api.ask("POST", workflows, { body, headers: { "Impersonate-User": "applier" } });
  await plane.pass(1_000);
  expect(await plane.phases("his")).toEqual({ may: "Succeeded", mayNot: "Failed/Forbidden" });
});

test.each([
  ["no name", applies({ apiVersion: "v1", kind: "ConfigMap" }), "spec.steps.a.template.metadata.name"],
  [
    "a version",
    applies({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", resourceVersion: "1" } }),
    "spec.steps.a.template.metadata.resourceVersion",
  ],
  ["force without Apply", { force: true, template: configMap("a", {}) }, "spec.steps.a.force"],
  ["Apply of a Job", { operation: "Apply", container: { image: "busybox" } }, "spec.steps.a.operation"],
])("%s is refused at admission", async (_what, step, field) => {
  const { status, json } = await plane.api.ask("POST", workflows, {
    body: workflow("refused", { steps: { a: step } }),
  });
  expect(status).toBe(422);
  expect(json["details"]?.["causes"]).toMatchObject([{ field }]);
});

const faults = { conflict: 0.1, tooMany: 0.1, internal: 0.1, lostAnswer: 0.15, latency: 0.3, duplicateEvent: 0.1 };

/** How long a process of controllers lives, and whether it does things of which it never learns that they were done. */
const life = fc.record({ ms: fc.constantFrom(0, 20, 300, 1_500), hearsNothing: fc.boolean() });

test("whatever fails or dies, an apply changes its object once, and only what follows it counts", async () => {
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(life, { minLength: 1, maxLength: 6 }), fc.nat(), async (lives, seed) => {
      const own = await WorkflowPlane.bare();
      try {
        await own.api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", { body: definition });
        const name = `w-${++round}`;
        const path = `${widgets}/${name}`;
        const status = (generation: number) =>
          own.api.ask("PATCH", `${path}/status`, {
            bytes: JSON.stringify({ status: complete(generation) }),
            headers: types.merge,
          });
        await own.api.ask("POST", widgets, { body: widget(name, { size: 1 }) });
        await status(1);
        const random = seededRandom(seed);
        const boot = async () => {
          const client = chaosClient(own.api.server.client(), { clock: own.clock, random, faults });
          return { client, controllers: await own.control({ client }) };
        };
        let process = await boot();
        await own.create("wf", { steps: { put: applies(widget(name, { color: "red" })) } });
        for (const { ms, hearsNothing } of lives) {
          if (hearsNothing) process.client.setFaults({ lostAnswer: 1 });
          await own.pass(ms);
          await process.controllers.close();
          process = await boot();
        }
        process.client.setFaults();
        await own.pass(60_000);
        expect(await own.phases("wf")).toEqual({ put: "Running" });
        expect((await own.get(path)).metadata?.["generation"]).toBe(2);
        await status(2);
        await own.pass(5_000);
        expect(await own.phases("wf")).toEqual({ put: "Succeeded" });
        expect((await own.status("wf"))["statuses"]?.["put"]).toMatchObject({ attempt: 1 });
      } finally {
        await own.close();
      }
    }),
    { numRuns: runs(12) },
  );
});
