import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { Definition, DefinitionType } from "./definition.ts";
import { definitionsOf, notFoundMessage, sourcesOfObjects } from "./find.ts";

const object = (kind: string, name: string, namespace: string, spec: JsonObject): KubeObject => ({
  apiVersion: "core.oam.dev/v1beta1",
  kind,
  metadata: { name, namespace },
  spec,
});

const template = (text: string): JsonObject => ({ schematic: { cue: { template: text } } });

const shippedOf = (type: DefinitionType, name: string): Definition => ({
  type,
  name,
  template: `shipped ${name}`,
  spec: {},
  annotations: {},
});

const shipped = [
  shippedOf("component", "webservice"),
  shippedOf("component", "worker"),
  shippedOf("workflow-step", "suspend"),
];
const systemNamespace = "vela-system";

const definitionsAmong = (objects: readonly KubeObject[]) =>
  definitionsOf(sourcesOfObjects(objects, { shipped: () => Promise.resolve(shipped), systemNamespace }));

test("the application's namespace comes before the system's, and both before what is shipped", async () => {
  const inSystem = object("ComponentDefinition", "webservice", systemNamespace, template("system"));
  const own = object("ComponentDefinition", "webservice", "a", template("own"));
  const all = definitionsAmong([inSystem, own]);
  expect((await all.find("component", "webservice", "a"))?.template).toBe("own");
  expect((await all.find("component", "webservice", "b"))?.template).toBe("system");
  expect((await all.find("component", "worker", "a"))?.template).toBe("shipped worker");
  expect(await all.find("trait", "webservice", "a")).toBeUndefined();
});

test("a stored definition has its spec without the template", async () => {
  const spec = { ...template("t"), workload: { definition: { apiVersion: "apps/v1", kind: "Deployment" } } };
  const found = await definitionsAmong([object("ComponentDefinition", "x", "a", spec)]).find("component", "x", "a");
  expect(found).toMatchObject({ type: "component", name: "x", template: "t", spec: { workload: spec.workload } });
  expect(found?.spec).not.toHaveProperty("schematic");
});

test("name@vN is a DefinitionRevision of that type", async () => {
  const revision = (name: string, type: string, member: string): KubeObject =>
    object("DefinitionRevision", name, "a", {
      revision: 3,
      revisionHash: "h",
      definitionType: type,
      [member]: { metadata: { name: "x" }, spec: template("third") },
    });
  const all = definitionsAmong([revision("x-v3", "Component", "componentDefinition")]);
  expect((await all.find("component", "x@v3", "a"))?.template).toBe("third");
  expect(await all.find("trait", "x@v3", "a")).toBeUndefined();
  expect(await all.find("component", "x@v4", "a")).toBeUndefined();
  expect((await all.find("component", "worker@v1", "a"))?.template).toBe("shipped worker");
});

test("an old WorkloadDefinition is used if there is no ComponentDefinition", async () => {
  const workload = object("WorkloadDefinition", "old", systemNamespace, template("old"));
  const found = await definitionsAmong([workload]).find("component", "old", "a");
  expect(found).toMatchObject({ type: "component", template: "old", spec: { workload: { type: "old" } } });
});

test("built-in types are not replaced", async () => {
  const suspend = object("WorkflowStepDefinition", "suspend", "a", template("mine"));
  const topology = object("PolicyDefinition", "topology", "a", template("mine"));
  const all = definitionsAmong([suspend, topology]);
  expect((await all.find("workflow-step", "suspend", "a"))?.template).toBe("shipped suspend");
  expect((await all.find("policy", "topology", "a"))?.template).toBe("");
});

test("writers of a definition, and of what is in a revision, are known", async () => {
  const by = (user: string) => ({ "slipway.dev/acts-for": JSON.stringify({ user, groups: [] }) });
  const revision = object("DefinitionRevision", "x-v1", "a", {
    revision: 1,
    revisionHash: "h",
    definitionType: "Trait",
    traitDefinition: { metadata: { name: "x", annotations: by("jane") }, spec: template("t") },
  });
  const named: KubeObject = { ...revision, metadata: { ...revision.metadata, annotations: by("joe") } };
  const found = await definitionsAmong([named]).find("trait", "x@v1", "a");
  expect(found?.writers?.map(({ user }) => user)).toEqual(["joe", "jane"]);
});

test("bad input: an unknown type is answered with the places and the nearest name", async () => {
  const all = definitionsAmong([object("WorkflowStepDefinition", "build-image", "a", template("t"))]);
  const asked = { type: "workflow-step", name: "buld-image", namespace: "a", systemNamespace } as const;
  expect(await notFoundMessage(all, asked)).toBe(
    'WorkflowStepDefinition "buld-image" not found in ns a, vela-system; nearest: build-image',
  );
  expect(await notFoundMessage(all, { ...asked, type: "trait", name: "zzz", namespace: systemNamespace })).toBe(
    'TraitDefinition "zzz" not found in ns vela-system',
  );
});
