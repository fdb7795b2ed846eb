import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { loadDialects } from "#dialects/index.ts";
import { type ApiServer, createApiServer, memoryStore, type Store } from "#kernel/apiserver/index.ts";
import { type ReviewParts, sharedOf } from "#kernel/dialect/index.ts";
import { type ApiClient, refTo } from "#kernel/kit/index.ts";
import { ApiError, type KubeObject, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { realHost } from "#kernel/template/testing/index.ts";
import { type JsonObject, silentLog, systemClock } from "#lib/base/index.ts";
import { definitionsOf, reviewing } from "./control-plane.ts";

// Applications on the API server: what it completes, refuses and shows.

let server: ApiServer;
let store: Store;
let client: ApiClient;
let types: readonly ResourceType[];
let templates: Awaited<ReturnType<typeof realHost>>;

beforeAll(async () => {
  templates = await realHost();
});
afterAll(() => templates.close());
beforeEach(async () => {
  store = memoryStore({ clock: systemClock, log: silentLog });
  const dialects = await loadDialects();
  const shared = sharedOf(dialects);
  server = await createApiServer({
    store,
    clock: systemClock,
    log: silentLog,
    version: "test",
    admissions: [shared, ...dialects].flatMap(({ admission }) =>
      admission.map((one) =>
        reviewing(one, () => Promise.resolve({ client: server.client(), templates: unhurried(templates) })),
      ),
    ),
    definitions: definitionsOf([shared, ...dialects]),
  });
  client = server.client();
  types = await client.resourceTypes();
});
afterEach(async () => {
  await server.close();
  await store.close();
});

/** Machines that run tests are slow at times. */
const unhurried = (host: typeof templates): ReviewParts["templates"] =>
  new Proxy(host, {
    get(target, name) {
      if (name === "ask") return (question: string, signal?: AbortSignal) => target.ask(question, signal, 60_000);
      return Reflect.get(target, name) as unknown;
    },
  });

const typeOf = (kind: string): ResourceType => {
  const type = types.find((known) => known.kind === kind && known.group === "core.oam.dev");
  if (type === undefined) throw new Error(`${kind} is not served`);
  return type;
};

const application = (spec: JsonObject): KubeObject => ({
  apiVersion: "core.oam.dev/v1beta1",
  kind: "Application",
  metadata: { name: "my-app", namespace: "default" },
  spec,
});

const components = [{ name: "web", type: "webservice", properties: { image: "nginx" }, traits: [{ type: "scaler" }] }];
const create = (spec: JsonObject, as: ApiClient = client): Promise<Stored> =>
  as.create(typeOf("Application"), application(spec));

/** The causes of a refusal. */
async function refusalOf(write: Promise<unknown>): Promise<readonly (string | undefined)[]> {
  const thrown: unknown = await write.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof ApiError)) throw new Error("expected a refusal");
  return thrown.details?.causes?.map(({ field, message }) => `${field ?? ""}: ${message}`) ?? [thrown.message];
}

test("17.1 names are filled in when an application is created, and when it is changed", async () => {
  const policies = [{ type: "security", properties: { rbac: "enabled" } }];
  const workflow = { steps: [{ type: "suspend" }, { type: "step-group", subSteps: [{ type: "suspend" }] }] };
  const created = await create({ components, policies, workflow });
  expect(created.spec).toMatchObject({
    policies: [{ name: "security-auto-gen-0" }],
    workflow: { steps: [{ name: "step-0" }, { name: "step-1", subSteps: [{ name: "step-1-0" }] }] },
  });
  const changed = await client.patch(refTo(typeOf("Application"), created), {
    type: "merge",
    body: { spec: { workflow: { steps: [{ type: "deploy" }] } } },
  });
  expect(changed.spec).toMatchObject({ workflow: { steps: [{ name: "step-0", type: "deploy" }] } });
  expect(changed.metadata.generation).toBe(2);
  const same = await client.update(typeOf("Application"), { ...changed, spec: { components, policies, workflow } });
  expect(same.spec).toEqual(created.spec);
});

test("bad input: everything that shows is refused at once", async () => {
  const steps = [
    { name: "a", type: "suspend", timeout: "1 hour", dependsOn: ["b"] },
    { name: "b", type: "x", dependsOn: ["a"], if: "a ==" },
    { name: "a", type: "y" },
  ];
  expect(await refusalOf(create({ components, workflow: { ref: "w", steps } }))).toEqual([
    "spec.workflow.ref: cannot set steps and ref in workflow at the same time",
    'spec.workflow.steps[2].name: step name "a" is already used at spec.workflow.steps[0]',
    'spec.workflow.steps[0].timeout: invalid timeout, use 1s, 1m, 1h or 1d; found "1 hour"',
    "spec.workflow.steps[0]: waits for itself: a -> b -> a",
  ]);
});

test("bad input: a condition is refused with position and hint", async () => {
  const conditions = ["a ==", "status.my-step.failed", "always"];
  const steps = conditions.map((text) => ({ type: "suspend", if: text }));
  expect(
    await refusalOf(create({ components, workflow: { steps: [{ name: "my-step", type: "suspend" }, ...steps] } })),
  ).toEqual([
    "spec.workflow.steps[1].if: at character 5: expected operand, found 'EOF'",
    'spec.workflow.steps[2].if: at character 8: "my-step" is not an identifier: CUE reads "-" as minus (write status["my-step"].failed)',
  ]);
});

test("bad input: an unknown type is refused with the nearest name, wrong properties with their place", async () => {
  const wrong = [
    { name: "a", type: "webservise", properties: { image: "nginx" } },
    {
      name: "b",
      type: "webservice",
      properties: { image: 3 },
      traits: [{ type: "scaler", properties: { replicas: "2" } }],
    },
    { name: "c", type: "webservice" },
  ];
  expect(await refusalOf(create({ components: wrong, workflow: { steps: [{ type: "suspnd" }] } }))).toEqual([
    'spec.components[0].type: ComponentDefinition "webservise" not found in ns default, vela-system; nearest: webservice',
    "spec.components[1].properties.image: parameter.image: expected string, found 3",
    "spec.components[1].traits[0].properties.replicas: parameter.replicas: expected integer, found a string",
    "spec.components[2].properties: parameter.image is required, expected string",
    'spec.workflow.steps[0].type: WorkflowStepDefinition "suspnd" not found in ns default, vela-system; nearest: suspend',
  ]);
  const created = await create({ components });
  const change = { type: "merge" as const, body: { spec: { components: wrong.slice(0, 1) } } };
  expect(await refusalOf(client.patch(refTo(typeOf("Application"), created), change))).toHaveLength(1);
});

test("a stored definition counts as soon as it exists; a run may wait for its own", async () => {
  const ofMine = { components: [{ name: "a", type: "mine", properties: { size: 1 } }] };
  expect(await refusalOf(create(ofMine))).toHaveLength(1);
  await client.create(typeOf("ComponentDefinition"), {
    apiVersion: "core.oam.dev/v1beta1",
    kind: "ComponentDefinition",
    metadata: { name: "mine", namespace: "default" },
    spec: { schematic: { cue: { template: "parameter: {\n  size: int\n}\n" } } },
  });
  await expect(create(ofMine)).resolves.toBeDefined();
  const run = {
    apiVersion: "core.oam.dev/v1alpha1",
    kind: "WorkflowRun",
    metadata: { name: "r", namespace: "default" },
    spec: { workflowSpec: { steps: [{ type: "later" }] } },
  };
  await expect(client.create(typeOf("WorkflowRun"), run)).resolves.toBeDefined();
});

test("metadata of an application that would be refused today may change", async () => {
  const created = await create({ components, workflow: { steps: [{ name: "a", type: "suspend" }] } });
  const change = client.patch(refTo(typeOf("Application"), created), {
    type: "merge",
    body: { metadata: { labels: { a: "b" } } },
  });
  await expect(change).resolves.toMatchObject({ metadata: { labels: { a: "b" } } });
});

test("17.25 columns of applications and runs", async () => {
  const created = await create({ components });
  await client.patch(
    refTo(typeOf("Application"), created),
    {
      type: "merge",
      body: {
        status: { status: "running", services: [{ name: "web", healthy: true, message: "Ready:1/1" }] },
      },
    },
    { subresource: "status" },
  );
  const app = server
    .registry()
    .all()
    .find(({ type }) => type.kind === "Application" && type.group === "core.oam.dev");
  const read = await client.get(refTo(typeOf("Application"), created));
  expect(app?.columns.map(({ name }) => name)).toEqual([
    "Name",
    "COMPONENT",
    "TYPE",
    "PHASE",
    "HEALTHY",
    "STATUS",
    "Age",
  ]);
  const row = app?.row(read as unknown as JsonObject, systemClock.now());
  expect(row?.slice(0, -1)).toEqual(["my-app", "web", "webservice", "running", true, "Ready:1/1"]);
});

test("the short name wf stays that of Slipway's own Workflow", () => {
  const named = types.filter(({ shortNames = [] }) => shortNames.includes("wf"));
  expect(named.map(({ group }) => group)).toEqual(["slipway.dev"]);
  expect(types.filter(({ plural }) => plural === "workflows").map(({ group }) => group)).toContain("core.oam.dev");
});

const person = { user: "jane", groups: ["system:authenticated"] } as const;

/** Lets a person write applications and their status, but not act as a controller. */
async function allowStatus(
  name = "apps",
  group = "core.oam.dev",
  resources: readonly string[] = ["applications", "applications/status"],
): Promise<ApiClient> {
  const rbac = "rbac.authorization.k8s.io/v1";
  const of = async (kind: string, object: JsonObject) => {
    const type = await client.resourceType(rbac, kind);
    if (type === undefined) throw new Error(kind);
    await client.create(type, { apiVersion: rbac, kind, metadata: { name }, ...object });
  };
  await of("ClusterRole", { rules: [{ apiGroups: [group], resources: [...resources], verbs: ["*"] }] });
  await of("ClusterRoleBinding", {
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [{ kind: "User", name: person.user, apiGroup: "rbac.authorization.k8s.io" }],
  });
  return server.client(person);
}

test("attack: a right to the status of rollouts is none to approve one", async () => {
  const jane = await allowStatus("rollouts", "app.oam.dev", ["rollouts", "rollouts/status"]);
  const type = await client.resourceType("app.oam.dev/v1", "Rollout");
  if (type === undefined) throw new Error("Rollout is not served");
  const rollout = await client.create(type, {
    apiVersion: "app.oam.dev/v1",
    kind: "Rollout",
    metadata: { name: "guarded", namespace: "default" },
    spec: { application: "guarded", newRevision: "guarded-v2", components: [] },
  });
  const edit = (body: JsonObject, as: ApiClient) =>
    as.patch(refTo(type, rollout), { type: "merge", body: { status: body } }, { subresource: "status" });
  await edit({ phase: "paused", pause: true, revision: "guarded-v2" }, client);
  for (const body of [{ pause: false }, { approved: true }, { phase: "promoting" }])
    expect(await refusalOf(edit(body, jane))).toEqual([
      expect.stringContaining("its status is written by its controllers alone"),
    ]);
  await expect(edit({ pause: false }, client)).resolves.toMatchObject({ status: { pause: false } });
});

test("people steer a run by its status and change nothing else in it", async () => {
  const jane = await allowStatus();
  const created = await create({ components }, jane);
  expect(created.metadata.annotations?.["slipway.dev/acts-for"]).toContain("jane");
  const edit = (body: JsonObject, as: ApiClient) =>
    as.patch(
      refTo(typeOf("Application"), created),
      { type: "merge", body: { status: body } },
      { subresource: "status" },
    );
  await edit(
    { status: "runningWorkflow", workflow: { mode: "DAG-DAG", steps: [{ name: "a", phase: "running" }] } },
    client,
  );
  await expect(edit({ workflow: { suspend: true } }, jane)).resolves.toMatchObject({
    status: { workflow: { suspend: true, mode: "DAG-DAG" } },
  });
  await expect(edit({ workflow: null }, jane)).resolves.not.toHaveProperty("status.workflow");
  await edit({ workflow: { steps: [{ name: "a", phase: "running" }] } }, client);
  expect(await refusalOf(edit({ workflow: { steps: [{ name: "a", phase: "succeeded" }] } }, jane))).toEqual([
    expect.stringContaining("its status is written by its controllers alone"),
  ]);
});
