import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { createRegistry, type KindRegistry } from "../crds/registry.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { writeNew } from "../testing/write-steps.ts";
import { aggregatedDiscovery } from "./aggregated.ts";
import { apiGroups } from "./groups.ts";
import { apiGroup, apiGroupList, apiResourceList, apiVersions, subresourceVerbs } from "./legacy.ts";
import { tagged, taggedReply } from "./tagged.ts";

function serve(
  registry: KindRegistry,
  plural: string,
  group: string,
  versions: readonly string[],
  more: JsonObject = {},
  annotations: JsonObject = {},
) {
  const kind = plural.charAt(0).toUpperCase() + plural.slice(1, -1);
  const crds = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions") as ServedResource;
  const version = (name: string, index: number) => ({
    name,
    served: true,
    storage: index === 0,
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: { spec: { type: "object", properties: { n: { type: "integer" } } } },
      },
    },
    ...more,
  });
  const { object, errors } = writeNew(crds, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, annotations },
    spec: { group, names: { plural, kind }, scope: "Namespaced", versions: versions.map(version) },
  });
  expect(errors).toEqual([]);
  registry.setCrd(object);
}

const registry = createRegistry({ now: () => 0 });
serve(registry, "zebras", "b.example.org", ["v1alpha1", "v1", "v2beta1", "v10"]);
serve(registry, "apples", "b.example.org", ["v1"]);
serve(registry, "plums", "a.example.org", ["v1"], {
  subresources: { status: {}, scale: { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n" } },
});

describe("groups", () => {
  const groups = apiGroups(registry);
  const named = (name: string) => groups.find((group) => group.name === name);

  test("stand core first, then as they are built in, then custom ones by name", () => {
    expect(groups.map(({ name }) => name)).toEqual([
      "",
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
      "a.example.org",
      "b.example.org",
    ]);
  });

  test("prefer stable versions, then newer ones", () => {
    expect(named("b.example.org")?.versions.map(({ version }) => version)).toEqual([
      "v10",
      "v1",
      "v2beta1",
      "v1alpha1",
    ]);
  });

  test("prefer the version that a definition asks for, if it is served", () => {
    const other = createRegistry({ now: () => 0 });
    const asking = (version: string) => ({ "slipway.dev/preferred-version": version });
    serve(other, "zebras", "b.example.org", ["v1alpha1", "v1", "v1alpha2"], {}, asking("v1alpha1"));
    serve(other, "apples", "b.example.org", ["v1"]);
    serve(other, "plums", "a.example.org", ["v1", "v2"], {}, asking("v3"));
    const versions = (name: string) => apiGroups(other).find((group) => group.name === name)?.versions;
    expect(versions("b.example.org")?.map(({ version }) => version)).toEqual(["v1alpha1", "v1", "v1alpha2"]);
    const order = other.all().flatMap(({ type }) => (type.plural === "zebras" ? [type.version] : []));
    expect(order, "clients in this process see the same order").toEqual(["v1alpha1", "v1", "v1alpha2"]);
    expect(versions("a.example.org")?.map(({ version }) => version)).toEqual(["v2", "v1"]);
  });

  test("have each kind in the versions that serve it", () => {
    const kinds = named("b.example.org")?.versions.map(({ resources }) => resources.map(({ type }) => type.plural));
    expect(kinds).toEqual([["zebras"], ["apples", "zebras"], ["zebras"], ["zebras"]]);
  });

  test("do not depend on the order in which kinds were declared", () => {
    const other = createRegistry({ now: () => 0 });
    serve(other, "apples", "b.example.org", ["v1"]);
    serve(other, "plums", "a.example.org", ["v1"]);
    serve(other, "zebras", "b.example.org", ["v10", "v2beta1", "v1", "v1alpha1"]);
    const shape = (from: KindRegistry) =>
      apiGroups(from).map(({ name, versions }) => [
        name,
        versions.map(({ version, resources }) => [version, resources.map(({ type }) => type.plural)]),
      ]);
    expect(shape(other)).toEqual(shape(registry));
  });

  test("are told alike by the older and the newer documents", () => {
    const older = apiGroupList(groups)["groups"] as readonly {
      name: string;
      versions: readonly { version: string }[];
    }[];
    const newer = aggregatedDiscovery(groups, "v2")["items"] as readonly {
      metadata: { name: string };
      versions: readonly { version: string }[];
    }[];
    const flat = (name: string, versions: readonly { version: string }[]) => [
      name,
      versions.map(({ version }) => version),
    ];
    expect(
      newer
        .filter(({ metadata }) => metadata.name !== "")
        .map(({ metadata, versions }) => flat(metadata.name, versions)),
    ).toEqual(older.map(({ name, versions }) => flat(name, versions)));
  });

  test("name the version to prefer", () => {
    const group = named("b.example.org");
    if (group === undefined) throw new Error("the group is missing");
    expect(apiGroup(group)).toMatchObject({
      kind: "APIGroup",
      preferredVersion: { groupVersion: "b.example.org/v10", version: "v10" },
    });
    expect(apiVersions(group)["versions"]).toEqual(["v10", "v1", "v2beta1", "v1alpha1"]);
  });

  test("list a kind that scales with the kind it scales by", () => {
    const [version] = named("a.example.org")?.versions ?? [];
    if (version === undefined) throw new Error("the version is missing");
    const resources = apiResourceList("a.example.org", version)["resources"] as readonly JsonObject[];
    expect(resources.find(({ name }) => name === "plums/scale")).toEqual({
      name: "plums/scale",
      singularName: "",
      namespaced: true,
      group: "autoscaling",
      version: "v1",
      kind: "Scale",
      verbs: ["get", "patch", "update"],
    });
  });
});

test("verbs of subresources are sorted, as discovery lists verbs", () => {
  for (const verbs of Object.values(subresourceVerbs)) expect([...verbs].sort()).toEqual(verbs);
});

describe("a tagged text", () => {
  const text = tagged("hello");
  const request = (ifNoneMatch?: string) => ({ path: "/x", query: new URLSearchParams(), accept: "", ifNoneMatch });

  test("has a hash of its own, the same each time", () => {
    expect(tagged("hello").hash).toBe(text.hash);
    expect(tagged("hello ").hash).not.toBe(text.hash);
    expect(text.hash).toMatch(/^[0-9A-F]{40}$/);
  });

  test.each<[string | undefined, number]>([
    [undefined, 200],
    ["", 200],
    [`"${text.hash}"`, 304],
    [`W/"${text.hash}"`, 304],
    [`"other", "${text.hash}"`, 304],
    ["*", 304],
    [text.hash, 200],
    [`"${text.hash.toLowerCase()}"`, 200],
  ])("is answered to If-None-Match %j with %i", (ifNoneMatch, code) => {
    const reply = taggedReply(text, request(ifNoneMatch), "text/plain", { Expires: "never" });
    expect(reply).toMatchObject({
      code,
      body: code === 200 ? "hello" : "",
      headers: { "Content-Type": "text/plain", ETag: `"${text.hash}"`, Vary: "Accept", Expires: "never" },
    });
  });
});
