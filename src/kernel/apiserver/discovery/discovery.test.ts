import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { kind, s, toCrd } from "#lib/schema/index.ts";
import { createRegistry, type KindRegistry } from "../crds/registry.ts";
import type { DocumentReply } from "../http/documents.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { writeNew } from "../testing/write-steps.ts";
import { preferredDiscovery } from "./aggregated.ts";
import { discoveryDocuments } from "./served-documents.ts";

const names = { version: "v1", kind: "Widget", plural: "widgets", scope: "Cluster", shortNames: ["wd"] } as const;

const Widget = kind({
  ...names,
  group: "demo.example.org",
  categories: ["all"],
  spec: s.object({}),
  status: s.object({}),
});

function serve(registry: KindRegistry, kind: Parameters<typeof toCrd>[0]) {
  const crds = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions") as ServedResource;
  registry.setCrd(writeNew(crds, toCrd(kind)).object);
}
const serveWidgets = (registry: KindRegistry) => serve(registry, Widget);

const v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const v2beta1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

function client(registry: KindRegistry) {
  const documents = discoveryDocuments();
  return async (path: string, accept = "application/json", ifNoneMatch?: string): Promise<DocumentReply | undefined> =>
    documents(registry, { path, query: new URLSearchParams(), accept, ifNoneMatch });
}
const read = (reply: DocumentReply | undefined): JsonObject => JSON.parse(String(reply?.body)) as JsonObject;

const registry = createRegistry({ now: () => 0 });
serveWidgets(registry);
const get = client(registry);

describe("the older documents", () => {
  test("name the versions of the core group", async () => {
    expect(read(await get("/api"))).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
  });

  test("name groups with their preferred version, custom ones last", async () => {
    const { groups } = read(await get("/apis")) as { groups: readonly JsonObject[] };
    expect(groups.map((group) => group["name"])).toEqual([
      "apps",
      "authentication.k8s.io",
      "authorization.k8s.io",
      "autoscaling",
      "batch",
      "certificates.k8s.io",
      "coordination.k8s.io",
      "events.k8s.io",
      "networking.k8s.io",
      "policy",
      "rbac.authorization.k8s.io",
      "scheduling.k8s.io",
      "storage.k8s.io",
      "apiextensions.k8s.io",
      "demo.example.org",
    ]);
    const batch = groups.find((group) => group["name"] === "batch");
    expect(batch).toMatchObject({ preferredVersion: { groupVersion: "batch/v1", version: "v1" } });
    expect(read(await get("/apis/batch"))).toEqual({ kind: "APIGroup", apiVersion: "v1", ...batch });
  });

  test("name Slipway's own group before other custom ones, so that its names are those that clients find", async () => {
    const own = createRegistry({ now: () => 0 });
    for (const group of ["z.example.org", "slipway.dev", "a.example.org"])
      serve(own, kind({ ...names, group, spec: s.object({}), status: s.object({}) }));
    const { groups } = read(await client(own)("/apis")) as { groups: readonly JsonObject[] };
    expect(groups.slice(-3).map((group) => group["name"])).toEqual(["slipway.dev", "a.example.org", "z.example.org"]);
  });

  test("have the hash that Kubernetes gives a stored version, the same for both forms of Events, and none for questions", async () => {
    const hashOf = async (path: string, name: string) => {
      const { resources } = read(await get(path)) as { resources: readonly JsonObject[] };
      return resources.find((resource) => resource["name"] === name)?.["storageVersionHash"];
    };
    expect(await hashOf("/apis/apps/v1", "deployments")).toBe("8aSe+NMegvE=");
    expect(await hashOf("/api/v1", "events")).toBe("r2yiGXH7wu8=");
    expect(await hashOf("/apis/events.k8s.io/v1", "events")).toBe("r2yiGXH7wu8=");
    expect(await hashOf("/apis/authorization.k8s.io/v1", "subjectaccessreviews")).toBeUndefined();
    expect(await hashOf("/apis/apps/v1", "deployments/status")).toBeUndefined();
  });

  test("list resources with their subresources", async () => {
    const { resources } = read(await get("/api/v1")) as { resources: readonly JsonObject[] };
    expect(resources.map((resource) => resource["name"])).toEqual([
      "configmaps",
      "endpoints",
      "events",
      "limitranges",
      "namespaces",
      "namespaces/status",
      "namespaces/finalize",
      "nodes",
      "nodes/status",
      "persistentvolumeclaims",
      "persistentvolumeclaims/status",
      "persistentvolumes",
      "persistentvolumes/status",
      "pods",
      "pods/status",
      "pods/log",
      "pods/exec",
      "pods/attach",
      "pods/portforward",
      "pods/eviction",
      "podtemplates",
      "replicationcontrollers",
      "replicationcontrollers/status",
      "replicationcontrollers/scale",
      "resourcequotas",
      "resourcequotas/status",
      "secrets",
      "serviceaccounts",
      "serviceaccounts/token",
      "services",
      "services/status",
    ]);
    expect(resources.find((resource) => resource["name"] === "pods")).toEqual({
      name: "pods",
      singularName: "pod",
      namespaced: true,
      kind: "Pod",
      verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
      shortNames: ["po"],
      categories: ["all"],
      storageVersionHash: "xPOwRZ+Yhw8=",
    });
    expect(read(await get("/apis/demo.example.org/v1"))).toEqual({
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion: "demo.example.org/v1",
      resources: [
        expect.objectContaining({
          name: "widgets",
          kind: "Widget",
          namespaced: false,
          singularName: "widget",
          shortNames: ["wd"],
        }),
        {
          name: "widgets/status",
          singularName: "",
          namespaced: false,
          kind: "Widget",
          verbs: ["get", "patch", "update"],
        },
      ],
    });
  });

  test.each([
    "/apis/nothing",
    "/apis/batch/v2",
    "/api/v2",
    "/api/v1/pods",
    "/apis/batch/v1/jobs",
    "/apis//v1",
    "/healthz",
    "/",
  ])("do not stand at %s", async (path) => {
    expect(await get(path)).toBeUndefined();
  });

  test("are found with a slash at the end too", async () => {
    expect(read(await get("/apis/"))).toEqual(read(await get("/apis")));
  });
});

describe("the aggregated document", () => {
  test("has all groups but the core at /apis, and the core at /api", async () => {
    const apis = read(await get("/apis", v2)) as { items: readonly JsonObject[]; apiVersion: string };
    expect(apis.apiVersion).toBe("apidiscovery.k8s.io/v2");
    expect(apis.items.map((item) => (item["metadata"] as JsonObject)["name"])).toEqual([
      "apps",
      "authentication.k8s.io",
      "authorization.k8s.io",
      "autoscaling",
      "batch",
      "certificates.k8s.io",
      "coordination.k8s.io",
      "events.k8s.io",
      "networking.k8s.io",
      "policy",
      "rbac.authorization.k8s.io",
      "scheduling.k8s.io",
      "storage.k8s.io",
      "apiextensions.k8s.io",
      "demo.example.org",
    ]);
    expect(apis.items.at(-1)).toEqual({
      metadata: { name: "demo.example.org", creationTimestamp: null },
      versions: [
        {
          version: "v1",
          freshness: "Current",
          resources: [
            {
              resource: "widgets",
              responseKind: { group: "demo.example.org", version: "v1", kind: "Widget" },
              scope: "Cluster",
              singularResource: "widget",
              verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
              shortNames: ["wd"],
              categories: ["all"],
              subresources: [
                {
                  subresource: "status",
                  responseKind: { group: "demo.example.org", version: "v1", kind: "Widget" },
                  verbs: ["get", "patch", "update"],
                },
              ],
            },
          ],
        },
      ],
    });
    const core = read(await get("/api", v2beta1)) as { items: readonly JsonObject[]; apiVersion: string };
    expect(core.apiVersion).toBe("apidiscovery.k8s.io/v2beta1");
    expect(core.items).toHaveLength(1);
  });

  test("is named in the Content-Type as it was asked for", async () => {
    expect((await get("/apis", v2beta1))?.headers).toMatchObject({ "Content-Type": v2beta1, Vary: "Accept" });
  });

  test.each([
    [`${v2},${v2beta1},application/json`, "v2"],
    [`${v2beta1},application/json`, "v2beta1"],
    ["application/json", undefined],
    ["application/json;q=0.9,application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", undefined],
    ["application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList", undefined],
    [`application/vnd.kubernetes.protobuf;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2,${v2}`, "v2"],
    ["*/*", undefined],
    ["", undefined],
  ])("is what %j asks for: %s", (accept, version) => {
    expect(preferredDiscovery(accept)).toBe(version);
  });
});

test("a client that has the document already is told so, until a kind comes or goes", async () => {
  const fresh = createRegistry({ now: () => 0 });
  const ask = client(fresh);
  const first = await ask("/apis", v2);
  const etag = first?.headers["ETag"] ?? "";
  expect(etag).toMatch(/^"[0-9A-F]{40}"$/);
  expect(await ask("/apis", v2, etag)).toMatchObject({ code: 304, body: "" });
  expect(await ask("/apis", v2, `W/"other", W/${etag}`)).toMatchObject({ code: 304 });
  expect(await ask("/apis", "application/json", etag)).toMatchObject({ code: 200 });
  serveWidgets(fresh);
  expect(await ask("/apis", v2, etag)).toMatchObject({ code: 200 });
  fresh.removeCrd("widgets.demo.example.org");
  expect(await ask("/apis", v2, etag)).toMatchObject({ code: 304 });
});
