import { describe, expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { kind, s, toCrd } from "#lib/schema/index.ts";
import { createRegistry, type KindRegistry } from "../crds/registry.ts";
import type { DocumentReply } from "../http/documents.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { writeNew } from "../testing/write-steps.ts";
import { openApiDocuments } from "./openapi-documents.ts";

const Flow = kind({
  group: "demo.example.org",
  version: "v1",
  kind: "Flow",
  plural: "flows",
  scope: "Namespaced",
  description: "A graph.",
  spec: s.object({
    steps: s.map(
      s.object({ run: s.string({ description: "What runs." }), port: s.optional(s.intOrString({ nullable: true })) }),
      { description: "Vertices by key." },
    ),
  }),
  status: s.object({}),
});

function serveFlows(registry: KindRegistry) {
  const crds = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions") as ServedResource;
  registry.setCrd(writeNew(crds, toCrd(Flow)).object);
}

function client(registry: KindRegistry) {
  const documents = openApiDocuments();
  return async (
    path: string,
    headers: { accept?: string; ifNoneMatch?: string } = {},
  ): Promise<DocumentReply | undefined> => {
    const { pathname, searchParams } = new URL(path, "https://x");
    return documents(registry, {
      path: pathname,
      query: searchParams,
      accept: headers.accept ?? "application/json",
      ifNoneMatch: headers.ifNoneMatch,
    });
  };
}
type Loose = { readonly [name: string]: Loose } & JsonValue;
const read = (reply: DocumentReply | undefined): Loose => JSON.parse(String(reply?.body)) as Loose;

const registry = createRegistry({ now: () => 0 });
serveFlows(registry);
const get = client(registry);

const refsOf = (value: JsonValue | undefined): readonly string[] =>
  typeof value !== "object" || value === null
    ? []
    : Object.entries(value).flatMap(([name, child]) =>
        name === "$ref" && typeof child === "string" ? [child] : refsOf(child as JsonValue),
      );

describe("version 3", () => {
  test("lists every group and version with the hash of its document", async () => {
    const { paths } = read(await get("/openapi/v3"));
    expect(Object.keys(paths ?? {})).toEqual([
      "api/v1",
      "apis/apps/v1",
      "apis/authentication.k8s.io/v1",
      "apis/authorization.k8s.io/v1",
      "apis/autoscaling/v2",
      "apis/batch/v1",
      "apis/certificates.k8s.io/v1",
      "apis/coordination.k8s.io/v1",
      "apis/events.k8s.io/v1",
      "apis/networking.k8s.io/v1",
      "apis/policy/v1",
      "apis/rbac.authorization.k8s.io/v1",
      "apis/scheduling.k8s.io/v1",
      "apis/storage.k8s.io/v1",
      "apis/apiextensions.k8s.io/v1",
      "apis/demo.example.org/v1",
    ]);
    expect(paths?.["api/v1"]?.["serverRelativeURL"]).toMatch(/^\/openapi\/v3\/api\/v1\?hash=[0-9A-F]{40}$/);
  });

  test("has no reference that leads nowhere", async () => {
    for (const path of Object.keys(read(await get("/openapi/v3"))["paths"] ?? {})) {
      const document = read(await get(`/openapi/v3/${path}`));
      const schemas = document["components"]?.["schemas"] ?? {};
      const missing = refsOf(document).filter(
        (ref) => !Object.hasOwn(schemas, ref.replace("#/components/schemas/", "")),
      );
      expect(missing).toEqual([]);
    }
  });

  test("lets clients find that a kind can be validated, dry-run and managed: its PATCH says so", async () => {
    for (const resource of registry.all()) {
      const { group, version, kind, plural, namespaced } = resource.type;
      const root = group === "" ? `api/${version}` : `apis/${group}/${version}`;
      const { paths } = read(await get(`/openapi/v3/${root}`));
      const patch = paths?.[`/${root}${namespaced ? "/namespaces/{namespace}" : ""}/${plural}/{name}`]?.["patch"];
      expect(patch).toMatchObject({
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": { group, version, kind },
      });
      const names = Object.values(patch?.["parameters"] ?? {}).map((parameter) => parameter["name"]);
      expect(names).toEqual(["dryRun", "fieldManager", "fieldValidation", "force"]);
    }
  });

  test("describes a custom kind by its definition, its metadata by reference", async () => {
    const schemas = read(await get("/openapi/v3/apis/demo.example.org/v1"))["components"]?.["schemas"];
    expect(schemas?.["org.example.demo.v1.Flow"]).toMatchObject({
      type: "object",
      description: "A graph.",
      "x-kubernetes-group-version-kind": [{ group: "demo.example.org", version: "v1", kind: "Flow" }],
      properties: {
        apiVersion: { type: "string" },
        metadata: { allOf: [{ $ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" }] },
        spec: {
          properties: {
            steps: {
              description: "Vertices by key.",
              additionalProperties: { properties: { run: { description: "What runs." } } },
            },
          },
        },
      },
    });
    expect(schemas?.["org.example.demo.v1.FlowList"]).toMatchObject({
      properties: { items: { items: { $ref: "#/components/schemas/org.example.demo.v1.Flow" } } },
    });
  });

  test("describes built-in kinds in our own words, with list types and merge keys", async () => {
    const schemas = read(await get("/openapi/v3/api/v1"))["components"]?.["schemas"];
    expect(schemas?.["io.k8s.api.core.v1.PodSpec"]?.["properties"]?.["containers"]).toMatchObject({
      description: "The containers. At least one; they cannot be added or removed later.",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      "x-kubernetes-patch-merge-key": "name",
    });
    expect(schemas?.["io.k8s.api.core.v1.ConfigMap"]?.["properties"]?.["metadata"]).toHaveProperty("description");
  });

  test("lists the operations of collections, objects and subresources", async () => {
    const { paths } = read(await get("/openapi/v3/apis/demo.example.org/v1"));
    const root = "/apis/demo.example.org/v1";
    const methods = Object.fromEntries(
      Object.entries(paths ?? {}).map(([path, item]) => [
        path,
        Object.keys(item).filter((name) => name !== "parameters"),
      ]),
    );
    expect(methods).toEqual({
      [`${root}/namespaces/{namespace}/flows`]: ["get", "post", "delete"],
      [`${root}/namespaces/{namespace}/flows/{name}`]: ["get", "put", "patch", "delete"],
      [`${root}/namespaces/{namespace}/flows/{name}/status`]: ["get", "put", "patch"],
      [`${root}/flows`]: ["get"],
    });
  });

  test("may be kept for ever under its hash, and sends the holder of an old hash to the new one", async () => {
    const url = read(await get("/openapi/v3"))["paths"]?.["api/v1"]?.["serverRelativeURL"] as unknown as string;
    const current = await get(url);
    expect(current?.headers).toMatchObject({ "Cache-Control": "public, immutable", Expires: expect.any(String) });
    expect(await get("/openapi/v3/api/v1?hash=OLD")).toMatchObject({ code: 301, headers: { Location: url } });
    const etag = current?.headers["ETag"] ?? "";
    expect(await get("/openapi/v3/api/v1", { ifNoneMatch: etag })).toMatchObject({ code: 304, body: "" });
  });

  test("is made again only for the group that changed", async () => {
    const changing = createRegistry({ now: () => 0 });
    const ask = client(changing);
    const before = (await ask("/openapi/v3/api/v1"))?.body;
    expect(await ask("/openapi/v3/apis/demo.example.org/v1")).toBeUndefined();
    serveFlows(changing);
    expect(await ask("/openapi/v3/apis/demo.example.org/v1")).toMatchObject({ code: 200 });
    expect((await ask("/openapi/v3/api/v1"))?.body).toBe(before);
    changing.removeCrd("flows.demo.example.org");
    expect(await ask("/openapi/v3/apis/demo.example.org/v1")).toBeUndefined();
  });

  test.each(["/openapi", "/openapi/v3/api", "/openapi/v3/apis/batch/v9", "/openapi/v4", "/swagger.json"])(
    "does not stand at %s",
    async (path) => {
      expect(await get(path)).toBeUndefined();
    },
  );
});

describe("version 2", () => {
  test("in protobuf is what old clients accept", async () => {
    const reply = await get("/openapi/v2", { accept: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" });
    expect(reply).toMatchObject({
      code: 200,
      headers: { "Content-Type": "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" },
    });
    const body = Buffer.from(reply?.body ?? "");
    expect(body.subarray(0, 5).toString("hex")).toBe("0a03322e30");
    expect(body.includes("org.example.demo.v1.Flow")).toBe(true);
  });

  test("in protobuf is made once, and anew when the kinds change", async () => {
    const changing = createRegistry({ now: () => 0 });
    const ask = client(changing);
    const body = async () =>
      (await ask("/openapi/v2", { accept: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" }))?.body;
    const before = await body();
    expect(await body()).toBe(before);
    serveFlows(changing);
    const after = await body();
    expect(String(before)).not.toContain("org.example.demo.v1.Flow");
    expect(String(after)).toContain("org.example.demo.v1.Flow");
    expect(await body()).toBe(after);
  });

  test("in JSON has the definitions, without what Swagger 2.0 does not know", async () => {
    const document = read(await get("/openapi/v2"));
    const definitions = document["definitions"] ?? {};
    expect(document).toMatchObject({ swagger: "2.0" });
    expect(definitions["org.example.demo.v1.Flow"]?.["properties"]?.["metadata"]).toMatchObject({
      $ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    });
    expect(refsOf(document).filter((ref) => !Object.hasOwn(definitions, ref.replace("#/definitions/", "")))).toEqual(
      [],
    );
    expect(definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]).toEqual({});
    const port =
      definitions["org.example.demo.v1.Flow"]?.["properties"]?.["spec"]?.["properties"]?.["steps"]?.[
        "additionalProperties"
      ]?.["properties"]?.["port"];
    expect(port).toEqual({ "x-kubernetes-int-or-string": true });
  });
});
