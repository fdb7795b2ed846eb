import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../testing/index.ts";

// Nodes, claims, and the kinds that are stored only.

let api: TestServer;
beforeAll(async () => {
  api = await startTestServer();
});
afterAll(() => api.close());

const merge = { headers: { "Content-Type": "application/merge-patch+json" } };
const table = { headers: { Accept: "application/json;as=Table;g=meta.k8s.io;v=v1" } };
const cellsAt = async (path: string) => {
  const { json } = await api.ask("GET", path, table);
  const [row] = json["rows"] as unknown as readonly { readonly cells: readonly unknown[] }[];
  return row?.cells;
};

describe("a Node", () => {
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "one", labels: { "node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/build": "" } },
    spec: { unschedulable: true },
    status: {
      conditions: [{ type: "Ready", status: "True" }],
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
    },
  };

  test("registers with its status, is found by field and shown with its roles", async () => {
    expect((await api.ask("POST", "/api/v1/nodes", { body: node })).json).toMatchObject({ status: node.status });
    const found = await api.ask("GET", "/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue");
    expect(found.json["items"]).toHaveLength(1);
    expect(await cellsAt("/api/v1/nodes/one")).toEqual([
      "one",
      "Ready,SchedulingDisabled",
      "build,worker",
      expect.any(String),
      "",
      "127.0.0.1",
      "<none>",
      "<unknown>",
      "<unknown>",
      "<unknown>",
    ]);
  });
});

describe("a claim", () => {
  const path = "/api/v1/namespaces/default/persistentvolumeclaims";
  const claim = (name: string, spec: object = {}) => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
  });

  test("waits, protected from deletion", async () => {
    const { json } = await api.ask("POST", path, { body: claim("data") });
    expect(json).toMatchObject({
      metadata: { finalizers: ["kubernetes.io/pvc-protection"] },
      spec: { volumeMode: "Filesystem" },
      status: { phase: "Pending" },
    });
    expect((await cellsAt(`${path}/data`))?.slice(0, 7)).toEqual(["data", "Pending", "", "", "", "", "<unset>"]);
    await api.ask("DELETE", `${path}/data`);
    expect((await cellsAt(`${path}/data`))?.[1]).toBe("Terminating");
  });

  test("may grow and may be given a volume once; all else stays", async () => {
    await api.ask("POST", path, { body: claim("grown") });
    const patch = async (spec: object) =>
      (await api.ask("PATCH", `${path}/grown`, { ...merge, body: { spec } })).status;
    expect(await patch({ volumeName: "v" })).toBe(200);
    expect(await patch({ volumeName: "w" })).toBe(422);
    expect(await patch({ resources: { requests: { storage: "2Gi" } } })).toBe(200);
    expect(await patch({ resources: { requests: { storage: "1Gi" } } })).toBe(422);
    expect(await patch({ accessModes: ["ReadOnlyMany"] })).toBe(422);
  });

  test.each([
    ["no access mode", { accessModes: [] }, "spec.accessModes", "Required value"],
    ["another access mode", { accessModes: ["Append"] }, "spec.accessModes[0]", "Unsupported value"],
    [
      "a mode that wants to be alone",
      { accessModes: ["ReadWriteOnce", "ReadWriteOncePod"] },
      "spec.accessModes",
      "ReadWriteOncePod",
    ],
    ["no size", { resources: {} }, "spec.resources.requests.storage", "Required value"],
    [
      "a size of nothing",
      { resources: { requests: { storage: 0 } } },
      "spec.resources.requests.storage",
      "greater than zero",
    ],
    ["a block device", { volumeMode: "Block" }, "spec.volumeMode", "Filesystem"],
  ])("is refused with %s", async (_what, spec, field, message) => {
    const { status, json } = await api.ask("POST", path, { body: claim("bad", spec) });
    expect(status).toBe(422);
    expect(json["details"]?.["causes"]).toContainEqual(
      expect.objectContaining({ field, message: expect.stringContaining(message) }),
    );
  });
});

const template = { metadata: { labels: { app: "x" } }, spec: { containers: [{ name: "c", image: "i" }] } };
const selector = { matchLabels: { app: "x" } };

describe("kinds that are stored only", () => {
  test.each([
    [
      "DaemonSet",
      "/apis/apps/v1/namespaces/default/daemonsets",
      { selector, template },
      ["x", 0, 0, 0, 0, 0, "<none>"],
    ],
    [
      "Ingress",
      "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
      { rules: [{ host: "a.example" }], tls: [{}] },
      ["x", "<none>", "a.example", "", "80, 443"],
    ],
    [
      "NetworkPolicy",
      "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
      { podSelector: selector, ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/8" } }], ports: [{ port: "http" }] }] },
      ["x", "app=x"],
    ],
    [
      "HorizontalPodAutoscaler",
      "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
      { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" }, maxReplicas: 3 },
      ["x", "Deployment/web", "cpu: <unknown>/80%", "1", 3, 0],
    ],
    [
      "PodDisruptionBudget",
      "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
      { selector, minAvailable: "50%" },
      ["x", "50%", "N/A", 0],
    ],
    [
      "ReplicationController",
      "/api/v1/namespaces/default/replicationcontrollers",
      { selector: { app: "x" }, template },
      ["x", 1, 0, 0],
    ],
    [
      "PersistentVolume",
      "/api/v1/persistentvolumes",
      { capacity: { storage: "1024Mi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } },
      ["x", "1Gi", "RWO", "Retain", "Pending", "", "", "<unset>", ""],
    ],
    [
      "LimitRange",
      "/api/v1/namespaces/default/limitranges",
      { limits: [{ type: "Container", max: { cpu: 2, memory: "1Gi" } }] },
      ["x", expect.stringMatching(/^20\d\d-/)],
    ],
  ])("%s says so at every write", async (kind, path, spec, cells) => {
    const apiVersion = path.replace(/^\/apis?\//, "").replace(/\/(namespaces|persistentvolumes).*/, "");
    const body = { apiVersion, kind, metadata: { name: "x" }, spec };
    const made = await api.ask("POST", path, { body });
    expect([made.status, made.json["message"]]).toEqual([201, undefined]);
    expect(made.headers["warning"]).toContain(`${kind} is stored, not acted upon`);
    const changed = await api.ask("PATCH", `${path}/x`, { ...merge, body: { metadata: { labels: { a: "b" } } } });
    expect(changed.headers["warning"]).toContain("not acted upon");
    expect((await cellsAt(`${path}/x`))?.slice(0, cells.length)).toEqual(cells);
  });

  test("a ReplicationController can be scaled, for what it is worth", async () => {
    const path = "/api/v1/namespaces/default/replicationcontrollers/x/scale";
    const { json } = await api.ask("PATCH", path, { ...merge, body: { spec: { replicas: 3 } } });
    expect(json).toMatchObject({ kind: "Scale", spec: { replicas: 3 }, status: { selector: "app=x" } });
  });

  test("a ReplicationController has the labels of its template, and selects them, unless it has others", async () => {
    const path = "/api/v1/namespaces/default/replicationcontrollers";
    const make = async (name: string, labels: object, spec: object) =>
      (
        await api.ask("POST", path, {
          body: { apiVersion: "v1", kind: "ReplicationController", metadata: { name, ...labels }, spec },
        })
      ).json;
    const app = { app: "x" };
    expect(await make("bare", {}, { template })).toMatchObject({ metadata: { labels: app }, spec: { selector: app } });
    const own = await make("own", { labels: { own: "y" } }, { template, selector: { app: "x", more: "z" } });
    expect([own["metadata"]?.["labels"], own["spec"]?.["selector"]]).toEqual([{ own: "y" }, { app: "x", more: "z" }]);
  });

  test.each([
    ["PriorityClass", "/apis/scheduling.k8s.io/v1/priorityclasses", { value: 7 }, { value: 8 }, ["high", 7, false]],
    [
      "StorageClass",
      "/apis/storage.k8s.io/v1/storageclasses",
      { provisioner: "example.org/disk", allowVolumeExpansion: true },
      { provisioner: "example.org/other" },
      ["high", "example.org/disk", "Delete", "Immediate", true],
    ],
    [
      "ControllerRevision",
      "/apis/apps/v1/namespaces/default/controllerrevisions",
      { revision: 3, data: { spec: { any: ["thing"] } } },
      { data: { spec: { any: "other" } } },
      ["high", "<none>", 3],
    ],
  ])("a %s is stored with its defaults, and keeps what it was created with", async (kind, path, more, other, cells) => {
    const apiVersion = path.replace(/^\/apis\/(.*?\/v1)\/.*/, "$1");
    const made = await api.ask("POST", path, { body: { apiVersion, kind, metadata: { name: "high" }, ...more } });
    expect([made.status, made.json]).toEqual([201, expect.objectContaining(more)]);
    expect((await api.ask("PATCH", `${path}/high`, { ...merge, body: other })).json).toMatchObject({ code: 422 });
    expect((await cellsAt(`${path}/high`))?.slice(0, cells.length)).toEqual(cells);
  });

  test("a PodTemplate has the defaults of its Pods", async () => {
    const body = { apiVersion: "v1", kind: "PodTemplate", metadata: { name: "x" }, template };
    const path = "/api/v1/namespaces/default/podtemplates";
    expect((await api.ask("POST", path, { body })).json).toMatchObject({
      template: { spec: { dnsPolicy: "ClusterFirst" } },
    });
    expect(await cellsAt(`${path}/x`)).toEqual(["x", "c", "i", "app=x"]);
  });

  test("a CertificateSigningRequest names its creator, whoever it says it is of, and stays as it was made", async () => {
    const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    const spec = {
      request: "LS0t",
      signerName: "example.org/signer",
      usages: ["client auth"],
      expirationSeconds: 3600,
    };
    const forged = { ...spec, username: "system:admin", groups: ["system:masters", "other"] };
    const status = { conditions: [{ type: "Approved", status: "True" }] };
    const made = await api.ask("POST", path, {
      body: {
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { name: "x" },
        spec: forged,
        status,
      },
    });
    const kept = { ...spec, username: "slipway:admin", groups: ["system:masters", "system:authenticated"] };
    expect([made.json["spec"], made.json["status"]]).toEqual([kept, {}]);
    const changed = await api.ask("PATCH", `${path}/x`, { ...merge, body: { spec: { username: "eve" } } });
    expect(changed.json["spec"]).toEqual(kept);
    await api.ask("PATCH", `${path}/x/status`, { ...merge, body: { status } });
    expect((await cellsAt(`${path}/x`))?.slice(2)).toEqual(["example.org/signer", "slipway:admin", "60m", "Approved"]);
    const found = await api.ask("GET", `${path}?fieldSelector=spec.signerName%3Dexample.org/signer`);
    expect(found.json["items"]).toHaveLength(1);
  });

  test("a CertificateSigningRequest is approved and signed by nobody here", async () => {
    const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    const spec = { request: "LS0t", signerName: "kubernetes.io/kube-apiserver-client", usages: ["client auth"] };
    const request = { apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest" };
    const conditions = [{ type: "Approved", status: "True", reason: "x", message: "x" }];
    const status = { conditions, certificate: "LS0t" };
    const made = await api.ask("POST", path, { body: { ...request, metadata: { name: "y" }, spec, status } });
    expect(made.json["status"]).toEqual({});
    const approved = { ...made.json, status: { conditions } };
    expect((await api.ask("PUT", `${path}/y/approval`, { body: approved })).status).toBe(404);
    // Neither may an editor of every namespace, nor an operator, say that it is.
    for (const group of ["slipway:operators", "editors"]) {
      const headers = { "Impersonate-User": "eve", "Impersonate-Group": group };
      expect((await api.ask("PUT", `${path}/y/status`, { body: approved, headers })).status).toBe(403);
    }
    await api.ask("PUT", `${path}/y/status`, { body: approved });
    expect((await api.ask("GET", `${path}/y`)).json["status"]).toEqual({ conditions });
  });

  test("Endpoints show the first three addresses", async () => {
    const path = "/api/v1/namespaces/default/endpoints";
    const addresses = [1, 2].map((last) => ({ ip: `10.0.0.${last}` }));
    const subsets = [
      {
        addresses,
        ports: [
          { port: 80, name: "a" },
          { port: 81, name: "b" },
        ],
      },
    ];
    const made = await api.ask("POST", path, {
      body: { apiVersion: "v1", kind: "Endpoints", metadata: { name: "x" }, subsets },
    });
    expect(made.json).toMatchObject({ subsets: [{ ports: [{ protocol: "TCP" }, { protocol: "TCP" }] }] });
    expect(made.headers["warning"]).toContain("Endpoints is stored, not acted upon");
    expect((await cellsAt(`${path}/x`))?.[1]).toBe("10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 1 more...");
  });
});
