import { describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { kind, s, toCrd } from "#lib/schema/index.ts";
import { definition, rawDefinitions } from "#kernel/specs/index.ts";
import { createRegistry } from "../crds/registry.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { writeNew } from "../testing/write-steps.ts";
import { componentsOf } from "./components.ts";
import { swagger } from "./openapi-documents.ts";

const registry = createRegistry({ now: () => 0 });
const Gauge = kind({
  group: "demo.example.org",
  version: "v1",
  kind: "Gauge",
  plural: "gauges",
  scope: "Cluster",
  spec: s.object({
    level: s.intOrString({ description: "A number or a share." }),
    nullable: s.optional(s.string({ nullable: true, description: "A field with the name of a keyword." })),
    list: s.list(s.object({ x: s.integer() })),
  }),
});
const crds = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions") as ServedResource;
registry.setCrd(writeNew(crds, toCrd(Gauge)).object);
const gauges = registry.find("demo.example.org", "v1", "gauges") as ServedResource;
const pods = registry.find("", "v1", "pods") as ServedResource;

const definitions = (document: JsonObject): JsonObject =>
  isJsonObject(document["definitions"]) ? document["definitions"] : {};
const at = (value: JsonValue | undefined, ...path: readonly string[]): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>((found, name) => (isJsonObject(found) ? found[name] : undefined), value);
function keywordsIn(schema: JsonValue | undefined, found = new Set<string>()): ReadonlySet<string> {
  if (!isJsonObject(schema)) return found;
  for (const [keyword, value] of Object.entries(schema)) {
    found.add(keyword);
    if (keyword === "properties" && isJsonObject(value))
      for (const member of Object.values(value)) keywordsIn(member, found);
    else if (keyword === "items" || keyword === "additionalProperties") keywordsIn(value, found);
  }
  return found;
}

describe("Swagger 2.0", () => {
  const gauge = at(definitions(swagger([gauges])), "org.example.demo.v1.Gauge");

  test("has no keyword of OpenAPI 3, in any definition", () => {
    for (const schema of Object.values(definitions(swagger(registry.all())))) {
      const keywords = keywordsIn(schema);
      expect(["oneOf", "anyOf", "allOf", "not", "nullable"].filter((keyword) => keywords.has(keyword))).toEqual([]);
    }
  });

  test("keeps a field that has the name of a keyword", () => {
    expect(at(gauge, "properties", "spec", "properties", "nullable")).toEqual({
      type: "string",
      description: "A field with the name of a keyword.",
    });
  });

  test("lets pass what it cannot say: a number or a text is anything", () => {
    expect(at(gauge, "properties", "spec", "properties", "level")).toEqual({
      description: "A number or a share.",
      "x-kubernetes-int-or-string": true,
    });
  });

  test("refers to definitions by its own path, and leaves nothing beside a reference that changes its meaning", () => {
    const metadata = at(gauge, "properties", "metadata");
    expect(metadata).toMatchObject({ $ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" });
    expect(JSON.stringify(swagger(registry.all()))).not.toContain("#/components/schemas/");
  });

  test("of a custom kind that keeps unknown fields at its root says that it is an object, and nothing of its fields", () => {
    const root = {
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      properties: { a: { type: "string" } },
    };
    const open = {
      ...toCrd(Gauge),
      metadata: { name: "opens.demo.example.org" },
      spec: {
        group: "demo.example.org",
        scope: "Cluster",
        names: { plural: "opens", kind: "Open" },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: root } }],
      },
    };
    registry.setCrd(writeNew(crds, open).object);
    const served = registry.find("demo.example.org", "v1", "opens") as ServedResource;
    expect(at(definitions(swagger([served])), "org.example.demo.v1.Open")).toEqual({
      type: "object",
      "x-kubernetes-group-version-kind": [{ group: "demo.example.org", kind: "Open", version: "v1" }],
    });
  });

  test("has no paths, because nobody who asks for it reads them", () => {
    expect(swagger([pods])["paths"]).toEqual({});
  });
});

describe("components", () => {
  const names = (...resources: ServedResource[]) => [...componentsOf(resources).keys()];

  test("of no kind are what every group answers with", () => {
    expect(names()).toEqual(
      expect.arrayContaining([
        "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
        "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
      ]),
    );
    expect(names().some((name) => name.includes(".api."))).toBe(false);
  });

  test("of a kind are all it refers to, once, and nothing of other kinds", () => {
    const ofPods = names(pods);
    expect(new Set(ofPods).size).toBe(ofPods.length);
    expect(ofPods).toEqual(
      expect.arrayContaining(["io.k8s.api.core.v1.Pod", "io.k8s.api.core.v1.PodList", "io.k8s.api.core.v1.Probe"]),
    );
    expect(ofPods).not.toContain("io.k8s.api.batch.v1.Job");
  });

  test("end where types contain themselves", () => {
    expect(names(crds)).toContain("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
  });

  test("of a custom kind have the envelope of every object, whatever its definition says of it", () => {
    const schema = componentsOf([gauges]).get("org.example.demo.v1.Gauge");
    expect(Object.keys((schema?.["properties"] ?? {}) as object).sort()).toEqual([
      "apiVersion",
      "kind",
      "metadata",
      "spec",
    ]);
    expect(schema).toMatchObject({
      "x-kubernetes-group-version-kind": [{ group: "demo.example.org", kind: "Gauge", version: "v1" }],
    });
  });

  test("leave the definitions they are made of as they are", () => {
    const before = JSON.stringify(rawDefinitions()["io.k8s.api.core.v1.Pod"]);
    componentsOf([pods]);
    expect(JSON.stringify(rawDefinitions()["io.k8s.api.core.v1.Pod"])).toBe(before);
    expect(definition("io.k8s.api.core.v1.Pod")?.description).toBeUndefined();
  });
});
