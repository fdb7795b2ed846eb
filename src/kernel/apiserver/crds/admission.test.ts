import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { kind, s, toCrd } from "#lib/schema/index.ts";
import { type KindAdmission, withAdmission } from "./admission.ts";
import { createRegistry } from "./registry.ts";

const Widget = kind({
  group: "demo.example.org",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  scope: "Namespaced",
  spec: s.object({ size: s.integer({ minimum: 1 }) }),
});

function served() {
  const registry = createRegistry({ now: () => 0 });
  const crds = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  const definition = toCrd(Widget);
  registry.setCrd(crds?.prepareForCreate(crds.withDefaults(definition)) ?? definition);
  return registry.find("demo.example.org", "v1", "widgets");
}
const plain = served();

/** The causes of a creation under an owner who finds these texts. */
function causes(size: number, found: readonly string[], more: Partial<KindAdmission> = {}): readonly string[] {
  if (plain === undefined) throw new Error("widgets are not served");
  const owner: KindAdmission = {
    group: "demo.example.org",
    kind: "Widget",
    prepareForCreate: (object) => object,
    validate: () => ({ causes: found.map((message) => ({ message })), warnings: [] }),
    ...more,
  };
  const object: JsonObject = {
    apiVersion: "demo.example.org/v1",
    kind: "Widget",
    metadata: { name: "w" },
    spec: { size },
  };
  return withAdmission(plain, [owner], { serves: () => true })
    .validateCreate(object)
    .causes.map(({ message = "" }) => message);
}

test("an owner is asked about what its schema accepts", () => {
  expect(causes(1, ["not on a Friday"])).toEqual(["not on a Friday"]);
});

test("what the schema refuses is not shown to an owner", () => {
  expect(causes(0, ["not on a Friday"])).toEqual([expect.stringContaining("greater than or equal to 1")]);
});

test("an owner who covers the schema speaks in its place", () => {
  expect(causes(0, ["too small, and a Friday"], { coversSchema: true })).toEqual(["too small, and a Friday"]);
});

test("what an owner has overlooked the schema still refuses", () => {
  expect(causes(0, [], { coversSchema: true })).toEqual([expect.stringContaining("greater than or equal to 1")]);
});

test("an owner may ask what the server serves at that moment", () => {
  const answers: boolean[] = [];
  const owner: KindAdmission = {
    group: "demo.example.org",
    kind: "Widget",
    coversSchema: true,
    prepareForCreate: (object) => object,
    validate(_object, _old, server) {
      for (const [apiVersion, kind] of [
        ["v1", "Pod"],
        ["demo.example.org/v1", "Widget"],
        ["demo.example.org/v2", "Widget"],
      ])
        answers.push(server?.serves(apiVersion ?? "", kind ?? "") ?? false);
      return { causes: [], warnings: [] };
    },
  };
  const registry = createRegistry({ now: () => 0, admissions: [owner] });
  const crds = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  registry.setCrd(crds?.prepareForCreate(crds.withDefaults(toCrd(Widget))) ?? toCrd(Widget));
  registry.find("demo.example.org", "v1", "widgets")?.validateCreate({});
  expect(answers).toEqual([true, true, false]);
});
