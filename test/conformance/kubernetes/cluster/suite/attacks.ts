import type { Ask } from "./api.ts";

// Requests that ask for too much, each with the answers that are right. A server may also hang up on a body it does not want to read.

export interface Attack {
  readonly method: string;
  readonly path: string;
  readonly ask?: Ask;
  readonly statuses: readonly number[];
  /** What is stored before, unless it is there. */
  readonly stored?: { readonly path: string; readonly body: object };
}

const maps = "/api/v1/namespaces/default/configmaps";
const megabyte = 2 ** 20;
const json = { "Content-Type": "application/json" };
const yaml = { "Content-Type": "application/yaml" };
const post = (bytes: Buffer | string, headers: Readonly<Record<string, string>>, ...statuses: number[]): Attack => ({
  method: "POST",
  path: maps,
  ask: { bytes, headers },
  statuses,
});
const mapOf = (data: string): string =>
  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"big"},"data":{${data}}}`;
const members = (count: number): string => Array.from({ length: count }, (_, n) => `"k${n}":"v"`).join(",");
const deep = "[".repeat(100_000) + "]".repeat(100_000);

/** Each line is ten of the line before. */
const bomb = Array.from({ length: 12 }, (_, n) => {
  const items = n === 0 ? ["x"] : Array.from({ length: 10 }, () => `*a${n - 1}`);
  return `a${n}: &a${n} [${items.join(",")}]\n`;
}).join("");

/** A ConfigMap whose data consist of empty entries, two bytes each. */
function tinyFields(): Buffer {
  const data = Buffer.alloc(2 * megabyte, Buffer.from([0x12, 0x00]));
  const length = Buffer.from([
    (data.length & 0x7f) | 0x80,
    ((data.length >> 7) & 0x7f) | 0x80,
    ((data.length >> 14) & 0x7f) | 0x80,
    data.length >> 21,
  ]);
  const type = Buffer.concat([
    Buffer.from([0x0a, 2]),
    Buffer.from("v1"),
    Buffer.from([0x12, 9]),
    Buffer.from("ConfigMap"),
  ]);
  return Buffer.concat([
    Buffer.from("k8s\0"),
    Buffer.from([0x0a, type.length]),
    type,
    Buffer.from([0x12]),
    length,
    data,
  ]);
}

const times = <T>(count: number, make: (n: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, n) => make(n));
const create = (path: string, body: object, ...statuses: number[]): Attack => ({
  method: "POST",
  // Nothing is stored, so that each is as the first.
  path: `${path}?dryRun=All`,
  ask: { bytes: JSON.stringify(body), headers: json },
  statuses: [...statuses, 429],
});
const change = (stored: Attack["stored"] & object, type: string, body: unknown, query = ""): Attack => ({
  method: "PATCH",
  path: `${stored.path}/${(stored.body as { readonly metadata: { readonly name: string } }).metadata.name}?dryRun=All${query}`,
  ask: { bytes: JSON.stringify(body), headers: { "Content-Type": type } },
  statuses: [200, 429],
  stored,
});

/** A Deployment of which nothing comes, with so many variables. */
const deploymentOf = (count: number, value: string) => ({
  path: "/apis/apps/v1/namespaces/default/deployments",
  body: {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: `attacked-${count}` },
    spec: {
      replicas: 0,
      paused: true,
      selector: { matchLabels: { a: "b" } },
      template: {
        metadata: { labels: { a: "b" } },
        spec: { containers: [{ name: "c", image: "i", env: times(count, (n) => ({ name: `E${n}`, value })) }] },
      },
    },
  },
});

const definitionOf = (properties: object): object => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "attacks.example.org" },
  spec: {
    group: "example.org",
    scope: "Namespaced",
    names: { plural: "attacks", kind: "Attack" },
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties } } },
    ],
  },
});
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const list = (query: string, accept: string): Attack => ({
  method: "GET",
  path: `/api/v1/configmaps${query}`,
  ask: { headers: { Accept: accept } },
  statuses: [200, 429],
});

const makers: Readonly<Record<string, () => Attack>> = {
  // What as many clients cost that ask for nothing bad: no attack can be expected to cost less.
  "ordinary requests": () => ({ method: "GET", path: "/api/v1/namespaces/default", statuses: [200] }),
  "bodies of 24 MiB": () => post(Buffer.alloc(24 * megabyte, 0x20), json, 413),
  "bodies of 24 MiB that are not announced": () =>
    post(Buffer.alloc(24 * megabyte, 0x20), { ...json, "Transfer-Encoding": "chunked" }, 413),
  "bodies of 24 MiB of nobody": () => {
    const attack = post(Buffer.alloc(24 * megabyte, 0x20), json, 401);
    return { ...attack, ask: { ...attack.ask, isAnonymous: true } };
  },
  "texts of 3 MiB": () => post(mapOf(`"k":"${"x".repeat(3 * megabyte - 200)}"`), json, 422, 429),
  "objects of 200,000 members": () => post(mapOf(members(200_000)), json, 413, 429),
  "lists of a million empty lists": () => post(`{"x":[${"[],".repeat(megabyte - 100)}[]]}`, json, 413, 429),
  "JSON 100,000 deep": () => post(deep, json, 400, 429),
  "YAML 100,000 deep": () => post(deep, yaml, 400, 429),
  "YAML aliases of aliases": () => post(bomb, yaml, 400),
  "protobuf of a million tiny fields": () =>
    post(tinyFields(), { "Content-Type": "application/vnd.kubernetes.protobuf" }, 400, 429),
  "selectors of thousands of terms": () => ({
    method: "GET",
    path: `${maps}?labelSelector=${Array.from({ length: 700 }, (_, n) => `k${n}!=v`).join(",")}`,
    statuses: [400],
  }),
  "selectors longer than a URL may be": () => ({
    method: "GET",
    path: `${maps}?labelSelector=${"a,".repeat(10_000)}a`,
    statuses: [414, 431],
  }),
  "YAML of a million words": () => post(`x: [${"a,".repeat(1_500_000)}a]`, yaml, 413, 429),
  "YAML of 100,000 lines": () => post(`x:\n${"- a\n".repeat(100_000)}`, yaml, 422, 429),
  "YAML of a million comments": () => post("#\n".repeat(1_500_000), yaml, 413, 429),
  "strategic merges of 12,000 items": () =>
    change(deploymentOf(12_000, "v"), "application/strategic-merge-patch+json", {
      spec: {
        template: {
          spec: {
            containers: [
              {
                name: "c",
                "$setElementOrder/env": times(12_000, (n) => ({ name: `E${11_999 - n}` })),
                env: times(12_000, (n) => ({ name: `E${n}`, value: "w" })),
              },
            ],
          },
        },
      },
    }),
  "applies of 10,000 items": () => {
    const stored = deploymentOf(10_000, "v");
    return change(
      stored,
      "application/apply-patch+yaml",
      deploymentOf(10_000, "w").body,
      "&fieldManager=attacker&force=true",
    );
  },
  "patches of 10,000 operations": () =>
    change(
      { path: maps, body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "patched" }, data: { a: "b" } } },
      "application/json-patch+json",
      times(10_000, (n) => ({ op: "copy", from: "/data/a", path: `/data/k${n}` })),
    ),
  "small changes of a large object": () =>
    change(deploymentOf(12_000, "v"), "application/merge-patch+json", { metadata: { labels: { a: "b" } } }),
  "Pods of 15,000 tolerations": () =>
    create(
      "/api/v1/namespaces/default/pods",
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "tolerant" },
        spec: {
          containers: [{ name: "c", image: "i" }],
          tolerations: times(15_000, (n) => ({ key: `k${n}`, operator: "Exists" })),
        },
      },
      201,
    ),
  "definitions of 9,000 properties": () =>
    create(definitions, definitionOf(Object.fromEntries(times(9000, (n) => [`p${n}`, { type: "string" }]))), 201),
  "definitions of 3,000 patterns": () =>
    create(
      definitions,
      definitionOf(Object.fromEntries(times(3000, (n) => [`p${n}`, { type: "string", pattern: `(a${n}b){1000}` }]))),
      422,
    ),
  "definitions of 2,000 rules": () =>
    create(
      definitions,
      definitionOf(
        Object.fromEntries(
          times(2000, (n) => {
            const rule = `self.startsWith('a${n}') || self.size() > 3`;
            return [`p${n}`, { type: "string", maxLength: 10, "x-kubernetes-validations": [{ rule }] }];
          }),
        ),
      ),
      201,
    ),
  "managers of fields by the thousand": () => {
    const managedFields = times(9000, (n) => ({
      manager: `m${n}`,
      operation: "Update",
      apiVersion: "v1",
      time: "2020-01-01T00:00:00Z",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:data": {} },
    }));
    return create(maps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "managed", managedFields } }, 201);
  },
  "lists of everything": () => list("", "application/json"),
  "tables of everything": () => list("", "application/json;as=Table;v=v1;g=meta.k8s.io"),
  "YAML of everything": () => list("", "application/yaml"),
  // After the objects of the test, and after whatever the history forgets of them.
  "lists of a state long ago": () => ({
    ...list("?limit=1&resourceVersionMatch=Exact&resourceVersion=300", "application/json"),
    statuses: [200, 410, 429],
  }),
  "watches from long ago": () => list("?watch=1&timeoutSeconds=1&resourceVersion=300", "application/json"),
  "watches of everything": () => list("?watch=1&timeoutSeconds=1", "application/json"),
  "selectors of 350 terms on everything": () =>
    list(`?labelSelector=${times(350, (n) => `k${n}!=v`).join(",")}`, "application/json"),
};

export const attackNames: readonly string[] = Object.keys(makers);

export function attackOf(name: string): Attack {
  const make = makers[name];
  if (make === undefined) throw new Error(`there is no attack ${JSON.stringify(name)}`);
  return make();
}
