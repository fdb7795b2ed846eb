import recorded from "../protobuf/recorded.json" with { type: "json" };

// What is fuzzed: where the bytes go, and the good ones that the damaged ones come from.

/** One request made of bytes. */
export interface Attempt {
  readonly method: string;
  readonly path: string;
  readonly type?: string;
  readonly body?: Buffer;
}

export interface Target {
  readonly name: string;
  readonly inputs: readonly Buffer[];
  readonly attempt: (bytes: Buffer) => Attempt;
}

const json = (...values: readonly unknown[]) => values.map((value) => Buffer.from(JSON.stringify(value)));
const texts = (...values: readonly string[]) => values.map((value) => Buffer.from(value));

const maps = "/api/v1/namespaces/default/configmaps";
const gizmos = "/apis/fuzz.example.org/v1/namespaces/default/gizmos";
const podSpec = {
  containers: [
    {
      name: "a",
      image: "busybox",
      ports: [{ containerPort: 80 }],
      env: [{ name: "E", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
    },
  ],
  volumes: [{ name: "v", configMap: { name: "c", items: [{ key: "k", path: "p" }] } }],
};
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "fuzzed", labels: { a: "b" }, annotations: { n: "o" }, finalizers: ["example.org/f"] },
  spec: {
    replicas: 1,
    selector: { matchLabels: { a: "b" } },
    template: { metadata: { labels: { a: "b" } }, spec: podSpec },
  },
};
const job = {
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { generateName: "j-" },
  spec: {
    backoffLimit: 0,
    completionMode: "Indexed",
    completions: 2,
    template: { spec: { ...podSpec, restartPolicy: "Never" } },
  },
};
/** A kind of its own, every keyword of schemas in it; created with the server. */
export const gizmoDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "gizmos.fuzz.example.org" },
  spec: {
    group: "fuzz.example.org",
    scope: "Namespaced",
    names: { plural: "gizmos", singular: "gizmo", kind: "Gizmo", listKind: "GizmoList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {}, scale: { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n" } },
        additionalPrinterColumns: [{ name: "N", type: "integer", jsonPath: ".spec.n" }],
        selectableFields: [{ jsonPath: ".spec.s" }],
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                required: ["n"],
                properties: {
                  n: { type: "integer", minimum: 0, multipleOf: 2, default: 2 },
                  s: { type: "string", pattern: "^[a-z]*$", maxLength: 9, enum: ["a", "b", ""] },
                  when: { type: "string", format: "date-time", nullable: true },
                  either: { "x-kubernetes-int-or-string": true },
                  list: {
                    type: "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    items: {
                      type: "object",
                      required: ["k"],
                      properties: { k: { type: "string" }, v: { type: "number" } },
                    },
                  },
                  any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
                },
                "x-kubernetes-validations": [{ rule: "!has(self.s) || self.n >= size(self.s)", message: "short" }],
              },
              status: { type: "object", properties: { n: { type: "integer" } } },
            },
          },
        },
      },
    ],
  },
};
const gizmo = {
  apiVersion: "fuzz.example.org/v1",
  kind: "Gizmo",
  metadata: { name: "fuzzed" },
  spec: { n: 4, s: "a", when: null, either: "5%", list: [{ k: "x", v: 1.5 }], any: { deep: [{ er: 1 }] } },
};
const yaml = [
  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fuzzed}\ndata:\n  a: |-\n    text\n  b: 'q'\n  c: \"\\u0041\"\n",
  "base: &b {k: v}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: fuzzed\n  labels: *b\n  annotations:\n    <<: *b\n",
  "apiVersion: fuzz.example.org/v1\nkind: Gizmo\nmetadata: {name: y}\nspec: {n: 0o10, s: no, when: 2026-01-01, either: 1_000}\n",
];
const patched = `${gizmos}/fuzzed`;
const patch =
  (path: string, type: string) =>
  (body: Buffer): Attempt => ({ method: "PATCH", path, type: `application/${type}`, body });
const post =
  (path: string, type: string) =>
  (body: Buffer): Attempt => ({ method: "POST", path: `${path}?dryRun=All`, type, body });
const query =
  (path: string, name: string) =>
  (bytes: Buffer): Attempt => ({ method: "GET", path: `${path}?${name}=${percentEncoded(bytes).slice(0, 6000)}` });
const percentEncoded = (bytes: Buffer): string =>
  [...bytes].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

const byPath = [...new Set(recorded.map(({ path }) => path))];

export const targets: readonly Target[] = [
  {
    name: "JSON of a Deployment",
    inputs: json(deployment),
    attempt: post("/apis/apps/v1/namespaces/default/deployments", "application/json"),
  },
  {
    name: "JSON of a Job",
    inputs: json(job),
    attempt: post("/apis/batch/v1/namespaces/default/jobs", "application/json"),
  },
  { name: "JSON of a custom object", inputs: json(gizmo), attempt: post(gizmos, "application/json") },
  {
    name: "JSON of a definition",
    inputs: json(gizmoDefinition),
    attempt: post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json"),
  },
  { name: "YAML", inputs: texts(...yaml), attempt: post(maps, "application/yaml") },
  { name: "YAML of a custom object", inputs: texts(...yaml), attempt: post(gizmos, "application/yaml") },
  ...byPath.map((path) => ({
    name: `protobuf to ${path}`,
    inputs: recorded.filter((one) => one.path === path).map(({ protobuf }) => Buffer.from(protobuf, "base64")),
    attempt: post(path.replace("/shop/", "/default/"), "application/vnd.kubernetes.protobuf"),
  })),
  {
    name: "JSON patches",
    inputs: json(
      [
        { op: "add", path: "/spec/any/x", value: [1] },
        { op: "test", path: "/spec/n", value: 4 },
      ],
      [
        { op: "move", from: "/spec/any/deep/0", path: "/spec/any/-" },
        { op: "copy", from: "/spec/list/0", path: "/spec/list/-" },
        { op: "remove", path: "/spec/s" },
      ],
    ),
    attempt: patch(patched, "json-patch+json"),
  },
  {
    name: "merge patches",
    inputs: json({ spec: { n: 6, s: null, any: { deep: null } }, metadata: { labels: { a: "b" } } }),
    attempt: patch(patched, "merge-patch+json"),
  },
  {
    name: "strategic merge patches",
    inputs: json(
      {
        spec: {
          template: {
            spec: { "$setElementOrder/containers": [{ name: "a" }], containers: [{ name: "a", $patch: "delete" }] },
          },
        },
      },
      {
        spec: { strategy: { $retainKeys: ["type"], type: "Recreate" }, replicas: null },
        metadata: { "$deleteFromPrimitiveList/finalizers": ["x"] },
      },
    ),
    attempt: patch("/apis/apps/v1/namespaces/default/deployments/fuzzed", "strategic-merge-patch+json"),
  },
  {
    name: "applied documents",
    inputs: [...json(gizmo), ...texts(yaml[2] ?? "")],
    attempt: patch(`${patched}?fieldManager=f&force=true`, "apply-patch+yaml"),
  },
  {
    name: "applied Deployments",
    inputs: json(deployment),
    attempt: patch("/apis/apps/v1/namespaces/default/deployments/fuzzed?fieldManager=f&force=true", "apply-patch+yaml"),
  },
  {
    name: "scales",
    inputs: json({ apiVersion: "autoscaling/v1", kind: "Scale", spec: { replicas: 2 } }),
    attempt: patch(`${patched}/scale`, "merge-patch+json"),
  },
  {
    name: "options of deletions",
    inputs: json({
      kind: "DeleteOptions",
      apiVersion: "v1",
      propagationPolicy: "Foreground",
      gracePeriodSeconds: 0,
      preconditions: { uid: "x" },
    }),
    attempt: (body) => ({ method: "DELETE", path: `${maps}/none`, type: "application/json", body }),
  },
  {
    name: "label selectors",
    inputs: texts("a=b,c!=d,e in (f,g),h notin (i),!j,k,l>1,m<2"),
    attempt: query(maps, "labelSelector"),
  },
  {
    name: "field selectors",
    inputs: texts("metadata.name=a\\,b,metadata.namespace!=c,spec.s==x"),
    attempt: query(gizmos, "fieldSelector"),
  },
  {
    name: "continue tokens",
    inputs: texts(Buffer.from('{"v":"meta.k8s.io/v1","rv":5,"start":"default/a\\u0000"}').toString("base64url")),
    attempt: query(maps, "limit=1&continue"),
  },
  {
    name: "revisions",
    inputs: texts("0", "12", "99999999999999999999"),
    attempt: query(maps, "resourceVersionMatch=Exact&resourceVersion"),
  },
  {
    name: "paths",
    inputs: texts("api/v1/namespaces/default/configmaps/a", "apis/fuzz.example.org/v1/gizmos", "openapi/v3/api/v1"),
    attempt: (bytes) => ({ method: "GET", path: `/${bytes.toString("latin1").replace(/[^\x21-\x7e]/g, "%")}` }),
  },
];
