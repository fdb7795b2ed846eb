import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { type Api, type Ask, openApi } from "./suite/api.ts";

// 49. Input that no well-meaning client sends: each row is answered as by every Kubernetes, at once.

let api: Api;
let namespace: string;
beforeAll(async () => {
  api = await openApi(inject("kubeconfig"));
  namespace = `conf-${randomBytes(4).toString("hex")}`;
  const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  expect((await api.ask("POST", "/api/v1/namespaces", { body })).status).toBe(201);
  expect(
    (await api.ask("POST", "/api/v1/namespaces/NS/configmaps".replace("NS", namespace), { body: there })).status,
  ).toBe(201);
});
afterAll(async () => {
  await api.ask("DELETE", `/api/v1/namespaces/${namespace}`);
  api.close();
});

const there = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "there" }, data: { k: "v" } };
const map = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
const maps = "/api/v1/namespaces/NS/configmaps";
const named = `${maps}/there`;
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const definition = (spec: object, schema: object = { type: "object" }, name = "bads.NS.example.org") => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name },
  spec: {
    group: "NS.example.org",
    scope: "Namespaced",
    names: { plural: "bads", singular: "bad", kind: "Bad", listKind: "BadList" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    ...spec,
  },
});
const version = (name: string) => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema: { type: "object" } },
});
const typed = (type: string, body: unknown): Ask => ({
  bytes: typeof body === "string" ? body : JSON.stringify(body),
  headers: { "Content-Type": type },
});
const protobuf = (hex: string): Ask => ({
  bytes: Buffer.from(hex.replaceAll(" ", ""), "hex"),
  headers: { "Content-Type": "application/vnd.kubernetes.protobuf" },
});
const apply = (body: object) => typed("application/apply-patch+yaml", body);
const container = { name: "a", image: "busybox" };
const pod = (spec: object) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "bad" },
  spec: { containers: [container], ...spec },
});

type Row = readonly [what: string, method: string, path: string, ask: Ask | undefined, statuses: readonly number[]];

const leases = "/apis/coordination.k8s.io/v1/namespaces/NS/leases";
const lease = (renewTime: string) => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "timed" },
  spec: { renewTime },
});
const event = (firstTimestamp: string) => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name: "timed", namespace: "NS" },
  involvedObject: { kind: "ConfigMap", namespace: "NS", name: "there" },
  firstTimestamp,
});

const rows: readonly Row[] = [
  ["a timeout that is no duration", "GET", `${maps}?timeout=soon`, undefined, [400]],
  ["a time without its six digits", "POST", leases, { body: lease("2026-01-31T12:00:00Z") }, [400]],
  ["a time that is a word", "POST", "/api/v1/namespaces/NS/events", { body: event("yesterday") }, [400]],
  ["a limit with an exponent", "GET", `${maps}?limit=1e3`, undefined, [400]],
  ["a revision that is a word", "GET", `${maps}?resourceVersion=abc&resourceVersionMatch=Exact`, undefined, [400, 422]],
  ["a negative revision", "GET", `${maps}?watch=1&resourceVersion=-1`, undefined, [400]],
  ["a revision beyond 64 bits", "GET", `${maps}?watch=1&resourceVersion=${2n ** 70n}`, undefined, [400]],
  ["a token that is none", "GET", `${maps}?limit=1&continue=nonsense`, undefined, [400]],
  [
    "a label selector that is cut off",
    "GET",
    `${maps}?labelSelector=${encodeURIComponent("a in (")}`,
    undefined,
    [400],
  ],
  ["a field that nobody can select by", "GET", `${maps}?fieldSelector=data%3Dx`, undefined, [400]],
  ["dryRun=true", "POST", `${maps}?dryRun=true`, { body: there }, [422]],
  ["fieldValidation=maybe", "POST", `${maps}?fieldValidation=maybe`, { body: there }, [422]],
  ["a JSON patch that is no list", "PATCH", named, typed("application/json-patch+json", {}), [400]],
  [
    "a JSON patch of a path without slash",
    "PATCH",
    named,
    typed("application/json-patch+json", [{ op: "remove", path: "data" }]),
    [400, 422],
  ],
  [
    "a JSON patch that removes the end of a list",
    "PATCH",
    named,
    typed("application/json-patch+json", [{ op: "remove", path: "/data/-" }]),
    [400, 422],
  ],
  [
    "a JSON patch that moves a value into itself",
    "PATCH",
    named,
    typed("application/json-patch+json", [{ op: "move", from: "/data", path: "/data/k" }]),
    [400, 422],
  ],
  ["a merge patch that is a list", "PATCH", named, typed("application/merge-patch+json", []), [400, 422]],
  [
    "a merge patch of another name",
    "PATCH",
    named,
    typed("application/merge-patch+json", { metadata: { name: "x" } }),
    [400, 422],
  ],
  [
    "a merge patch of another uid",
    "PATCH",
    named,
    typed("application/merge-patch+json", { metadata: { uid: "x" } }),
    [409, 422],
  ],
  [
    "a merge patch of another kind",
    "PATCH",
    named,
    typed("application/merge-patch+json", { kind: "Secret" }),
    [400, 422],
  ],
  [
    "a merge patch of an old revision",
    "PATCH",
    named,
    typed("application/merge-patch+json", { metadata: { resourceVersion: "1" } }),
    [409],
  ],
  ["an apply without field manager", "PATCH", named, apply(there), [400, 422]],
  [
    "an apply with managed fields",
    "PATCH",
    `${named}?fieldManager=m`,
    apply({ ...there, metadata: { name: "there", managedFields: [{}] } }),
    [400, 422],
  ],
  ["a field manager of 129 characters", "PATCH", `${named}?fieldManager=${"m".repeat(129)}`, apply(there), [422]],
  [
    "an apply of two items with one key",
    "PATCH",
    "/api/v1/namespaces/NS/pods/bad?fieldManager=m",
    apply(pod({ containers: [container, container] })),
    [400, 422, 500],
  ],
  [
    "an apply of an item without its key",
    "PATCH",
    "/api/v1/namespaces/NS/pods/bad?fieldManager=m",
    apply(pod({ containers: [container, { image: "busybox" }] })),
    [400, 422, 500],
  ],
  ["a patch type of custom kinds only", "PATCH", named, typed("application/unknown", {}), [415]],
  ["protobuf without its magic", "POST", maps, protobuf("00 00 00 00"), [400]],
  ["protobuf cut in a length", "POST", maps, protobuf("6b387300 0aff"), [400]],
  ["JSON that says it is protobuf", "POST", maps, typed("application/vnd.kubernetes.protobuf", there), [400]],
  ["a body of plain text", "POST", maps, typed("text/plain", "x"), [415]],
  ["an unknown propagation policy", "DELETE", named, { body: { propagationPolicy: "Nonsense" } }, [422]],
  [
    "a policy beside orphanDependents",
    "DELETE",
    named,
    { body: { propagationPolicy: "Orphan", orphanDependents: true } },
    [422],
  ],
  [
    "a definition of two storage versions",
    "POST",
    definitions,
    { body: definition({ versions: [version("v1"), version("v2")] }) },
    [422],
  ],
  [
    "a definition of another name than its plural",
    "POST",
    definitions,
    { body: definition({}, undefined, "worse.NS.example.org") },
    [422],
  ],
  [
    "a schema that is not structural",
    "POST",
    definitions,
    { body: definition({}, { type: "object", properties: { a: {} } }) },
    [422],
  ],
  [
    "a default that its schema refuses",
    "POST",
    definitions,
    { body: definition({}, { type: "object", properties: { a: { type: "integer", default: "x" } } }) },
    [422],
  ],
  [
    "a column that leads nowhere",
    "POST",
    definitions,
    {
      body: definition({
        versions: [{ ...version("v1"), additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: ".spec[" }] }],
      }),
    },
    [422],
  ],
  [
    "a pattern that is no regular expression",
    "POST",
    definitions,
    { body: definition({}, { type: "object", properties: { a: { type: "string", pattern: "(" } } }) },
    [422],
  ],
  [
    "two containers of one name",
    "POST",
    "/api/v1/namespaces/NS/pods",
    { body: pod({ containers: [container, container] }) },
    [422],
  ],
  ["no containers", "POST", "/api/v1/namespaces/NS/pods", { body: pod({ containers: [] }) }, [422]],
  [
    "an unknown restart policy",
    "POST",
    "/api/v1/namespaces/NS/pods",
    { body: pod({ restartPolicy: "Sometimes" }) },
    [422],
  ],
  [
    "a mount of no volume",
    "POST",
    "/api/v1/namespaces/NS/pods",
    { body: pod({ containers: [{ ...container, volumeMounts: [{ name: "x", mountPath: "/x" }] }] }) },
    [422],
  ],
];

const filled = (text: string) => text.replaceAll("NS", namespace);
const filledBody = (body: unknown) => JSON.parse(filled(JSON.stringify(body))) as unknown;

test.each(rows)("%s is refused", async (_what, method, path, ask, statuses) => {
  const body = ask?.body === undefined ? {} : { body: filledBody(ask.body) };
  const { status, json, text } = await api.ask(method, filled(path), { ...ask, ...body });
  expect(statuses, text).toContain(status);
  expect(json).toMatchObject({ kind: "Status", status: "Failure", code: status, message: expect.any(String) });
});

test("one connection takes large requests and gives large answers in turns, without a pause", async () => {
  const large = (n: number) => ({
    ...map("large"),
    data: { n: String(n), text: "x".repeat(200_000) },
  });
  expect((await api.ask("POST", filled(maps), { body: large(0) })).status).toBe(201);
  for (let n = 1; n <= 60; n += 1) {
    const { status, json } = await api.ask("PUT", filled(`${maps}/large`), { body: large(n) });
    expect([status, json["data"]?.["n"]]).toEqual([200, String(n)]);
  }
});

test("amounts come back in their canonical form", async () => {
  const { status, json, text } = await api.ask("POST", filled("/api/v1/namespaces/NS/resourcequotas"), {
    body: {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "amounts" },
      spec: { hard: { cpu: "2000m", memory: "2048Mi", "requests.cpu": 0.5, configmaps: "1k" } },
    },
  });
  expect(status, text).toBe(201);
  expect(json["spec"]).toEqual({ hard: { cpu: "2", memory: "2Gi", "requests.cpu": "500m", configmaps: "1k" } });
});

test("times come back in UTC, with the digits that their type has", async () => {
  const stored = async (path: string, body: unknown) => {
    const { status, json, text } = await api.ask("POST", filled(path), { body: filledBody(body) });
    expect(status, text).toBe(201);
    return json;
  };
  const told = await stored("/api/v1/namespaces/NS/events", event("2026-01-31T01:30:00.9+02:00"));
  expect(told["firstTimestamp"]).toBe("2026-01-30T23:30:00Z");
  const renewed = await stored(leases, lease("2026-01-31T01:30:00.123456+02:00"));
  expect(renewed["spec"]).toEqual({ renewTime: "2026-01-30T23:30:00.123456Z" });
  // Who applies what is there already, written differently, changes nothing.
  const again = await api.ask("PATCH", filled(`${leases}/timed`), {
    bytes: JSON.stringify({ spec: { renewTime: "2026-01-30T23:30:00.123456+00:00" } }),
    headers: { "Content-Type": "application/merge-patch+json" },
  });
  expect(again.json["metadata"]).toEqual(renewed["metadata"]);
});
