import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Json, startTestServer, type TestServer } from "../testing/index.ts";

let api: TestServer;
beforeAll(async () => {
  api = await startTestServer();
});
afterAll(() => api.close());

const deployments = "/apis/apps/v1/namespaces/default/deployments";
const sets = "/apis/apps/v1/namespaces/default/replicasets";

const labels = { app: "web" };
const spec = (more: object = {}, podSpec: object = {}) => ({
  selector: { matchLabels: labels },
  template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "example/web:1" }], ...podSpec } },
  ...more,
});
const deployment = (name: string, more: object = {}) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: more,
});
const replicaSet = (name: string, more: object = {}) => ({ ...deployment(name, more), kind: "ReplicaSet" });

describe("defaults", () => {
  test("a Deployment has a size, a strategy, a history and a deadline", async () => {
    const { status, json } = await api.ask("POST", deployments, { body: deployment("filled", spec()) });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      metadata: { generation: 1 },
      spec: {
        replicas: 1,
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
        revisionHistoryLimit: 10,
        progressDeadlineSeconds: 600,
        template: { spec: { restartPolicy: "Always", terminationGracePeriodSeconds: 30 } },
      },
    });
  });

  test("half a rolling update gets its other half, Recreate gets none", async () => {
    const half = { strategy: { rollingUpdate: { maxSurge: 2 } } };
    const rolling = await api.ask("POST", deployments, { body: deployment("half", spec(half)) });
    expect(rolling.json["spec"]?.["strategy"]).toEqual({
      type: "RollingUpdate",
      rollingUpdate: { maxSurge: 2, maxUnavailable: "25%" },
    });
    const recreate = { strategy: { type: "Recreate" } };
    const plain = await api.ask("POST", deployments, { body: deployment("recreate", spec(recreate)) });
    expect(plain.json["spec"]?.["strategy"]).toEqual({ type: "Recreate" });
  });

  test("a ReplicaSet has one replica and no labels of its own, and its status starts at none", async () => {
    const { json } = await api.ask("POST", sets, { body: replicaSet("plain", spec()) });
    expect(json).toMatchObject({ spec: { replicas: 1 }, status: { replicas: 0 } });
    expect(json["metadata"]).not.toHaveProperty("labels");
  });
});

describe("what is refused", () => {
  const rolling = (rollingUpdate: object) => spec({ strategy: { rollingUpdate } });
  test.each([
    ["a negative size", spec({ replicas: -1 }), ["spec.replicas", "must be greater than or equal to 0"]],
    ["no selector", spec({ selector: undefined }), ["spec.selector", "Required value"]],
    ["an empty selector", spec({ selector: {} }), ["spec.selector", "empty selector is invalid"]],
    [
      "a selector that does not select the template",
      spec({ selector: { matchLabels: { app: "db" } } }),
      ["spec.template.metadata.labels", "does not match"],
    ],
    [
      "a selector nobody can read",
      spec({ selector: { matchExpressions: [{ key: "a", operator: "Like" }] } }),
      ["spec.selector", "Like"],
    ],
    [
      "Pods that end",
      spec({}, { restartPolicy: "Never" }),
      ["spec.template.spec.restartPolicy", 'supported values: "Always"'],
    ],
    [
      "Pods with a deadline",
      spec({}, { activeDeadlineSeconds: 5 }),
      ["spec.template.spec.activeDeadlineSeconds", "have no deadline"],
    ],
    ["Pods without containers", spec({}, { containers: [] }), ["spec.template.spec.containers", "Required value"]],
    [
      "another strategy",
      spec({ strategy: { type: "Canary" } }),
      ["spec.strategy.type", 'supported values: "Recreate", "RollingUpdate"'],
    ],
    [
      "Recreate with numbers",
      spec({ strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } }),
      ["spec.strategy.rollingUpdate", "may not be specified"],
    ],
    [
      "an update that can never move",
      rolling({ maxSurge: 0, maxUnavailable: "0%" }),
      ["spec.strategy.rollingUpdate.maxUnavailable", "may not be 0 when `maxSurge` is 0"],
    ],
    [
      "more missing than there are",
      rolling({ maxUnavailable: "101%" }),
      ["spec.strategy.rollingUpdate.maxUnavailable", "must not be greater than 100%"],
    ],
    [
      "a share that is none",
      rolling({ maxSurge: "1/4" }),
      ["spec.strategy.rollingUpdate.maxSurge", "a valid percent string"],
    ],
    [
      "a negative surge",
      rolling({ maxSurge: -1 }),
      ["spec.strategy.rollingUpdate.maxSurge", "greater than or equal to 0"],
    ],
    [
      "a deadline that ends before a Pod can count",
      spec({ minReadySeconds: 600 }),
      ["spec.progressDeadlineSeconds", "must be greater than minReadySeconds"],
    ],
    [
      "a negative history",
      spec({ revisionHistoryLimit: -1 }),
      ["spec.revisionHistoryLimit", "greater than or equal to 0"],
    ],
  ])("%s", async (_, body, [field = "", words = ""]) => {
    const { status, json } = await api.ask("POST", deployments, { body: deployment("refused", body) });
    const causes = (json["details"]?.["causes"] ?? []) as unknown as readonly { field: string; message: string }[];
    expect({ status, causes }).toEqual({
      status: 422,
      causes: expect.arrayContaining([expect.objectContaining({ field, message: expect.stringContaining(words) })]),
    });
  });

  test("another selector, later", async () => {
    await api.ask("POST", deployments, { body: deployment("fixed", spec()) });
    const selector = { matchLabels: { tier: "front" } };
    const body = [
      { op: "replace", path: "/spec/selector", value: selector },
      { op: "add", path: "/spec/template/metadata/labels/tier", value: "front" },
    ];
    const headers = { "Content-Type": "application/json-patch+json" };
    const { status, json } = await api.ask("PATCH", `${deployments}/fixed`, { body, headers });
    expect([status, json["message"]]).toEqual([422, expect.stringContaining("spec.selector: Invalid value")]);
    expect(json["message"]).toContain("field is immutable");
  });
});

describe("the scale subresource", () => {
  const path = `${deployments}/scaled/scale`;
  const scale = (replicas: unknown, metadata: object = {}) => ({
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    metadata: { name: "scaled", namespace: "default", ...metadata },
    spec: { replicas },
  });
  beforeAll(async () => {
    await api.ask("POST", deployments, { body: deployment("scaled", spec({ replicas: 2 })) });
  });

  test("shows size and selector", async () => {
    const { json } = await api.ask("GET", path);
    expect(json).toMatchObject({ kind: "Scale", spec: { replicas: 2 }, status: { replicas: 0, selector: "app=web" } });
    expect(json["metadata"]).toHaveProperty("resourceVersion");
  });

  test("a PUT changes the size of the object and makes a new generation; the same again changes nothing", async () => {
    const first = await api.ask("PUT", path, { body: scale(5) });
    expect([first.status, first.json["spec"]]).toEqual([200, { replicas: 5 }]);
    const object = await api.ask("GET", `${deployments}/scaled`);
    expect(object.json).toMatchObject({ metadata: { generation: 2 }, spec: { replicas: 5 } });
    const second = await api.ask("PUT", path, { body: scale(5) });
    expect(second.json["metadata"]).toEqual(first.json["metadata"]);
  });

  test.each([
    ["application/merge-patch+json", { spec: { replicas: 7 } }, 7],
    ["application/strategic-merge-patch+json", { spec: { replicas: 8 } }, 8],
    ["application/json-patch+json", [{ op: "replace", path: "/spec/replicas", value: 9 }], 9],
  ])("a %s does too", async (type, body, replicas) => {
    const headers = { "Content-Type": type, "User-Agent": "sizer/1" };
    const { status, json } = await api.ask("PATCH", path, { body, headers });
    expect([status, json["spec"]]).toEqual([200, { replicas }]);
  });

  test("whoever scales owns the number, by the subresource", async () => {
    const { json } = await api.ask("GET", `${deployments}/scaled`);
    const managers = json["metadata"]?.["managedFields"] as unknown as readonly Json[];
    expect(managers.find(({ manager }) => String(manager) === "sizer")).toMatchObject({
      operation: "Update",
      apiVersion: "apps/v1",
      subresource: "scale",
      fieldsV1: { "f:spec": { "f:replicas": {} } },
    });
  });

  test("a field that a Scale does not have is told, or refused", async () => {
    const body = { ...scale(9), spec: { replicas: 9, repicas: 3 } };
    const warned = await api.ask("PUT", path, { body });
    expect([warned.status, warned.headers["warning"]]).toEqual([200, '299 - "unknown field \\"spec.repicas\\""']);
    const refused = await api.ask("PUT", `${path}?fieldValidation=Strict`, { body });
    expect([refused.status, refused.json["message"]]).toEqual([400, expect.stringContaining('"spec.repicas"')]);
  });

  test.each([
    ["a size that is no count", scale(-1), 422, "spec.replicas"],
    ["a size that is a text", scale("3"), 400, "spec.replicas must be of type integer, not string"],
    ["a size below nothing", scale(-1), 422, "spec.replicas"],
    ["an old version", scale(1, { resourceVersion: "1" }), 409, "has been modified"],
    ["another object's uid", scale(1, { uid: "other" }), 409, "UID"],
    ["another name", scale(1, { name: "other" }), 400, "does not match the name of the path"],
    ["another kind", { ...scale(1), kind: "Deployment" }, 400, '"Scale"'],
  ])("%s is refused", async (_, body, code, words) => {
    const { status, json } = await api.ask("PUT", path, { body });
    expect([status, json["message"]]).toEqual([code, expect.stringMatching(new RegExp(words, "i"))]);
  });

  test("an object that is not there, and a kind without it", async () => {
    expect((await api.ask("GET", `${deployments}/none/scale`)).status).toBe(404);
    expect((await api.ask("GET", "/apis/batch/v1/namespaces/default/jobs/x/scale")).status).toBe(404);
    expect((await apply("m", 1, `${deployments}/none/scale`, { name: "none" })).status).toBe(404);
  });

  const apply = (manager: string, replicas: unknown, at = path, metadata: object = {}) => {
    const [base, query = ""] = at.split("?");
    const headers = { "Content-Type": "application/apply-patch+yaml" };
    const body = replicas === undefined ? { ...scale(0, metadata), spec: {} } : scale(replicas, metadata);
    return api.ask("PATCH", `${base}?fieldManager=${manager}&${query}`, { body, headers });
  };
  const appliers = async () => {
    const { json } = await api.ask("GET", `${deployments}/applied`);
    const managers = json["metadata"]?.["managedFields"] as unknown as readonly Record<string, unknown>[];
    const own = managers.filter(({ operation }) => operation === "Apply");
    return own.map(({ time: _time, ...rest }) => rest);
  };

  test("an apply owns the number of the object, meets those who own it, and gives it up again", async () => {
    const at = `${deployments}/applied/scale`;
    const named = { name: "applied" };
    await api.ask("POST", `${deployments}?fieldManager=maker`, { body: deployment("applied", spec({ replicas: 2 })) });
    const met = await apply("sizer", 3, at, named);
    expect([met.status, met.json["details"]]).toMatchObject([
      409,
      { causes: [{ reason: "FieldManagerConflict", field: ".spec.replicas" }] },
    ]);
    expect(met.json["message"]).toContain('conflict with "maker" using apps/v1: .spec.replicas');
    // The same number is shared.
    expect((await apply("other", 2, at, named)).status).toBe(200);
    const forced = await apply("sizer", 3, `${at}?force=true`, named);
    expect([forced.status, forced.json["kind"], forced.json["spec"]]).toEqual([200, "Scale", { replicas: 3 }]);
    const own = { "f:spec": { "f:replicas": {} } };
    const entry = { apiVersion: "apps/v1", fieldsType: "FieldsV1", fieldsV1: own, operation: "Apply" };
    expect(await appliers()).toEqual([{ ...entry, manager: "sizer", subresource: "scale" }]);
    const again = await apply("sizer", 3, at, named);
    expect(again.json["metadata"]).toEqual(forced.json["metadata"]);
    const without = await apply("sizer", undefined, at, named);
    expect([without.status, without.json["spec"], await appliers()]).toEqual([200, { replicas: 0 }, []]);
  });

  test.each<[string, string, unknown, object, number, RegExp]>([
    ["nobody", "", 1, {}, 400, /fieldManager/],
    ["a size that is no count", "m", -1, {}, 422, /spec\.replicas/],
    ["another name", "m", 1, { name: "other" }, 400, /does not match/],
    ["owners in the document", "m", 1, { managedFields: [{}] }, 400, /managedFields/],
    ["an old version", "m", 9, { resourceVersion: "1" }, 409, /has been modified/],
  ])("an apply by or of %s is refused", async (_what, manager, replicas, metadata, code, words) => {
    const { status, json } = await apply(manager, replicas, path, metadata);
    expect([status, json["message"]]).toEqual([code, expect.stringMatching(words)]);
  });

  test("an apply by kubectl leaves its annotation alone", async () => {
    const key = "kubectl.kubernetes.io/last-applied-configuration";
    const body = { metadata: { annotations: { [key]: "{}" } } };
    const headers = { "Content-Type": "application/merge-patch+json" };
    expect((await api.ask("PATCH", `${deployments}/scaled`, { body, headers })).status).toBe(200);
    expect((await apply("kubectl", 4, `${path}?force=true`)).status).toBe(200);
    const { json } = await api.ask("GET", `${deployments}/scaled`);
    expect(json).toMatchObject({ metadata: { annotations: { [key]: "{}" } }, spec: { replicas: 4 } });
  });
});

test("tables show what kubectl shows", async () => {
  await api.ask("POST", deployments, { body: deployment("shown", spec({ replicas: 4 })) });
  const Accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
  const table = await api.ask("GET", `${deployments}?fieldSelector=metadata.name=shown`, { headers: { Accept } });
  const columns = table.json["columnDefinitions"] as unknown as readonly { name: string }[];
  expect(columns.map(({ name }) => name)).toEqual([
    "Name",
    "Ready",
    "Up-to-date",
    "Available",
    "Age",
    "Containers",
    "Images",
    "Selector",
  ]);
  const [row] = table.json["rows"] as unknown as readonly { cells: readonly unknown[] }[];
  expect(row?.cells).toEqual(["shown", "0/4", 0, 0, expect.any(String), "main", "example/web:1", "app=web"]);
});

describe("a StatefulSet", () => {
  const path = "/apis/apps/v1/namespaces/default/statefulsets";
  const claim = { metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } };
  const set = (name: string, more: object = {}, podSpec: object = {}) => ({
    ...deployment(name, spec({ serviceName: "s", volumeClaimTemplates: [claim], ...more }, podSpec)),
    kind: "StatefulSet",
  });
  const change = (body: object) =>
    api.ask("PATCH", `${path}/web`, { headers: { "Content-Type": "application/merge-patch+json" }, body });

  test("has an order, a strategy, a history, and claims that stay; no warning says that nothing comes of it", async () => {
    const { status, json, headers } = await api.ask("POST", path, { body: set("web") });
    expect([status, headers["warning"]]).toEqual([201, undefined]);
    expect(json).toMatchObject({
      spec: {
        replicas: 1,
        podManagementPolicy: "OrderedReady",
        revisionHistoryLimit: 10,
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
        template: { spec: { restartPolicy: "Always" } },
        volumeClaimTemplates: [
          {
            apiVersion: "v1",
            kind: "PersistentVolumeClaim",
            spec: { volumeMode: "Filesystem" },
            status: { phase: "Pending" },
          },
        ],
      },
      status: { replicas: 0, availableReplicas: 0 },
    });
  });

  test.each<[string, object, object, string]>([
    ["an unknown order", { podManagementPolicy: "Random" }, {}, "spec.podManagementPolicy"],
    ["an unknown strategy", { updateStrategy: { type: "Recreate" } }, {}, "spec.updateStrategy.type"],
    [
      "a negative partition",
      { updateStrategy: { rollingUpdate: { partition: -1 } } },
      {},
      "spec.updateStrategy.rollingUpdate.partition",
    ],
    [
      "a policy of neither kind",
      { persistentVolumeClaimRetentionPolicy: { whenScaled: "Keep" } },
      {},
      "spec.persistentVolumeClaimRetentionPolicy.whenScaled",
    ],
    ["a selector of other Pods", { selector: { matchLabels: { other: "x" } } }, {}, "spec.template.metadata.labels"],
    ["Pods that end", {}, { restartPolicy: "Never" }, "spec.template.spec.restartPolicy"],
  ])("is refused with %s", async (_what, more, podSpec, field) => {
    const { status, json } = await api.ask("POST", path, { body: set("bad", more, podSpec) });
    const causes = json["details"]?.["causes"];
    expect([status, causes]).toEqual([422, [expect.objectContaining({ field })]]);
  });

  test("mounts its claims, and nothing that is neither a claim nor a volume", async () => {
    const mounting = (name: string) => ({
      containers: [{ name: "main", image: "i", volumeMounts: [{ name, mountPath: "/mnt" }] }],
    });
    expect((await api.ask("POST", path, { body: set("mounts", {}, mounting("data")) })).status).toBe(201);
    expect((await api.ask("POST", path, { body: set("misses", {}, mounting("other")) })).status).toBe(422);
  });

  test("changes its size, template and strategy, and keeps what names Pods and claims", async () => {
    expect(
      (await change({ spec: { replicas: 3, updateStrategy: { type: "OnDelete", rollingUpdate: null } } })).status,
    ).toBe(200);
    for (const fixed of [{ serviceName: "t" }, { podManagementPolicy: "Parallel" }, { volumeClaimTemplates: null }]) {
      const { status, json } = await change({ spec: fixed });
      expect([status, json["message"]]).toEqual([
        422,
        expect.stringContaining("updates to statefulset spec for fields"),
      ]);
    }
    const scale = await api.ask("GET", `${path}/web/scale`);
    expect(scale.json).toMatchObject({ kind: "Scale", spec: { replicas: 3 }, status: { selector: "app=web" } });
  });
});
