import { describe, expect, expectTypeOf, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { age, column, kind, type ObjectOf, s, toCrd } from "#lib/schema/index.ts";
import type { KubeObject, ResourceType } from "#kernel/model/index.ts";
import { scalarText } from "#kernel/specs/index.ts";
import { createRegistry, type KindRegistry } from "./registry.ts";
import type { ServedResource } from "../kinds/served-resource.ts";

const now = Date.UTC(2026, 0, 31, 12);
const at = "2026-01-31T12:00:00Z";

const Widget = kind({
  group: "demo.example.org",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  scope: "Namespaced",
  shortNames: ["wd"],
  spec: s.object({ color: s.oneOf(["red", "green"], { default: "red" }), size: s.optional(s.integer({ minimum: 1 })) }),
  status: s.object({ phase: s.optional(s.string()) }),
  columns: [column("Color", ".spec.color"), column("Size", ".spec.size", { type: "integer", priority: 1 }), age()],
  selectableFields: [".spec.color"],
});

function resource(registry: KindRegistry, group: string, version: string, plural: string): ServedResource {
  const found = registry.find(group, version, plural);
  if (found === undefined) throw new Error(`${plural}.${group}/${version} is not served`);
  return found;
}

/** Sends a definition through the steps of a write. */
function create(registry: KindRegistry, crd: JsonObject) {
  const crds = resource(registry, "apiextensions.k8s.io", "v1", "customresourcedefinitions");
  const { object, unknown } = crds.prune(crd);
  const prepared = crds.prepareForCreate(crds.withDefaults(object));
  const { causes, warnings } = crds.validateCreate(prepared);
  return { object: prepared, unknown, causes, warnings };
}

function registryWith(...crds: readonly JsonObject[]): KindRegistry {
  const registry = createRegistry({ now: () => now });
  for (const crd of crds) registry.setCrd(create(registry, crd).object);
  return registry;
}

const conditions = (crd: JsonObject) =>
  ((crd["status"] as JsonObject)["conditions"] as readonly JsonObject[]).map(
    (one) => `${scalarText(one["type"])}=${scalarText(one["status"])}`,
  );

test("only what the same schema has pruned before is not pruned again", () => {
  const widgets = resource(registryWith(toCrd(Widget)), "demo.example.org", "v1", "widgets");
  const spec = Object.freeze({ color: "red", stranger: 1 });
  const stored = { apiVersion: "demo.example.org/v1", kind: "Widget", metadata: { name: "a" }, spec };
  expect(widgets.prune({ ...stored }).unknown).toEqual(["spec.stranger"]);
  const clean = { ...stored, spec: Object.freeze({ color: "red" }) };
  const status = { phase: "Ready", stranger: 1 };
  expect(widgets.prune(clean).unknown).toEqual([]);
  const again = widgets.prune({ ...clean, status }, clean);
  expect(again.unknown).toEqual(["status.stranger"]);
  expect(again.object["spec"]).toBe(clean.spec);
});

describe("a definition made by the builder", () => {
  test("is a resource type, and its objects are objects of the API", () => {
    expectTypeOf<typeof Widget>().toExtend<ResourceType>();
    expectTypeOf<ObjectOf<typeof Widget>>().toExtend<KubeObject>();
    expect(Widget satisfies ResourceType).toMatchObject({ group: "demo.example.org", version: "v1", namespaced: true });
  });

  test("passes every check, without a warning or an unknown field", () => {
    const { causes, warnings, unknown } = create(createRegistry({ now: () => now }), toCrd(Widget));
    expect({ causes, warnings, unknown }).toEqual({ causes: [], warnings: [], unknown: [] });
  });

  test("is established in the revision that creates it", () => {
    const { object } = create(createRegistry({ now: () => now }), toCrd(Widget));
    expect(object["metadata"]).toMatchObject({ finalizers: ["customresourcecleanup.apiextensions.k8s.io"] });
    expect(object["status"]).toEqual({
      acceptedNames: {
        plural: "widgets",
        singular: "widget",
        kind: "Widget",
        listKind: "WidgetList",
        shortNames: ["wd"],
      },
      conditions: [
        {
          type: "NamesAccepted",
          status: "True",
          reason: "NoConflicts",
          message: "no conflicts found",
          lastTransitionTime: at,
        },
        {
          type: "Established",
          status: "True",
          reason: "InitialNamesAccepted",
          message: "the initial names have been accepted",
          lastTransitionTime: at,
        },
      ],
      storedVersions: ["v1"],
    });
  });

  test("is served at once", () => {
    const registry = registryWith(toCrd(Widget));
    const widgets = resource(registry, "demo.example.org", "v1", "widgets");
    expect(registry.findKind("demo.example.org", "v1", "Widget")).toBe(widgets);
    expect(registry.all()).toContain(widgets);
    expect(widgets).toMatchObject({
      custom: true,
      listKind: "WidgetList",
      subresources: ["status"],
      hasGeneration: true,
      allowsUnconditionalUpdate: false,
      fieldLabels: ["spec.color"],
      type: { singular: "widget", shortNames: ["wd"], namespaced: true },
    });
  });
});

describe("objects of a custom kind", () => {
  const widgets = resource(registryWith(toCrd(Widget)), "demo.example.org", "v1", "widgets");
  const envelope = {
    apiVersion: "demo.example.org/v1",
    kind: "Widget",
    metadata: { name: "w", creationTimestamp: "2026-01-31T11:59:30Z" },
  };

  test("are pruned, metadata included", () => {
    const object = { ...envelope, metadata: { name: "w", nmae: "x" }, spec: { colour: "red" }, extra: 1 };
    expect(widgets.prune(object)).toEqual({
      object: { ...envelope, metadata: { name: "w" }, spec: {} },
      unknown: ["metadata.nmae", "spec.colour", "extra"],
    });
  });

  test("are defaulted and validated", () => {
    const object = widgets.withDefaults({ ...envelope, spec: {} });
    expect(object["spec"]).toEqual({ color: "red" });
    expect(widgets.validateCreate(object).causes).toEqual([]);
    expect(widgets.validateCreate({ ...envelope, spec: { color: "blue", size: 0 } }).causes).toEqual([
      {
        reason: "FieldValueNotSupported",
        field: "spec.color",
        message: 'Unsupported value: "blue": supported values: "red", "green"',
      },
      {
        reason: "FieldValueInvalid",
        field: "spec.size",
        message: "Invalid value: 0: must be greater than or equal to 1",
      },
    ]);
    expect(widgets.validateCreate(envelope).causes.map((cause) => cause.field)).toEqual(["spec"]);
  });

  test("keep a status that only its own endpoint changes", () => {
    const old = { ...envelope, spec: { color: "red" }, status: { phase: "Ready" } };
    expect(widgets.prepareForCreate(old)).not.toHaveProperty("status");
    expect(widgets.prepareForUpdate({ ...old, status: { phase: "Lost" } }, old)).toEqual(old);
    const reported = { ...old, spec: { color: "green" }, status: { phase: "Lost" } };
    expect(widgets.prepareForStatusUpdate(reported, old)).toEqual({ ...old, status: { phase: "Lost" } });
  });

  test("have a new generation when anything but metadata and status changes", () => {
    const old = { ...envelope, spec: { color: "red" } };
    expect(widgets.changesGeneration({ ...old, metadata: { name: "w", labels: { a: "b" } }, status: {} }, old)).toBe(
      false,
    );
    expect(widgets.changesGeneration({ ...old, spec: { color: "green" } }, old)).toBe(true);
  });

  test("are shown by the columns of the definition", () => {
    expect(widgets.columns.map(({ name, type, priority }) => [name, type, priority])).toEqual([
      ["Name", "string", 0],
      ["Color", "string", 0],
      ["Size", "integer", 1],
      ["Age", "date", 0],
    ]);
    expect(widgets.row({ ...envelope, spec: { color: "red", size: 3 } }, now)).toEqual(["w", "red", 3, "30s"]);
    expect(widgets.row({ ...envelope, spec: {} }, now)).toEqual(["w", "", null, "30s"]);
  });

  test("are selected by the fields that the definition allows", () => {
    expect(widgets.fieldValue({ ...envelope, spec: { color: "red" } }, "spec.color")).toBe("red");
    expect(widgets.fieldValue(envelope, "spec.color")).toBe("");
    expect(widgets.fieldValue(envelope, "spec.size")).toBeUndefined();
  });
});

describe("several versions", () => {
  const base = toCrd(Widget);
  const [version] = (base["spec"] as JsonObject)["versions"] as readonly JsonObject[];
  const versions = [
    { ...version, name: "v1beta1", storage: false, deprecated: true },
    { ...version, name: "v2", storage: false, deprecated: true, deprecationWarning: "use v1" },
    { ...version, name: "v1" },
    { ...version, name: "v3", storage: false, served: false },
  ];
  const registry = registryWith({ ...base, spec: { ...(base["spec"] as JsonObject), versions } });

  test("are served in Kubernetes' order, those that are not served are not", () => {
    const served = registry.all().filter((one) => one.custom);
    expect(served.map((one) => one.type.version)).toEqual(["v2", "v1", "v1beta1"]);
    expect(served.map((one) => one.warnings)).toEqual([
      ["use v1"],
      [],
      ["demo.example.org/v1beta1 Widget is deprecated"],
    ]);
  });

  test("share one stored form", () => {
    const { storage } = resource(registry, "demo.example.org", "v1beta1", "widgets");
    const object = { apiVersion: "demo.example.org/v1beta1", kind: "Widget", spec: {} };
    expect(storage).toMatchObject({ group: "demo.example.org", resource: "widgets" });
    expect(storage?.encode(object)).toEqual({ ...object, apiVersion: "demo.example.org/v1" });
    expect(storage?.decode({ ...object, apiVersion: "demo.example.org/v1" })).toEqual(object);
  });
});

describe("names", () => {
  const Other = { ...Widget, plural: "gadgets", kind: "Gadget", listKind: "GadgetList", singular: "gadget" };

  test("that clash with another kind of the group are not accepted, and the kind is not served", () => {
    const registry = registryWith(toCrd(Widget));
    const { object, causes } = create(registry, toCrd(Other));
    expect(causes).toEqual([]);
    expect(conditions(object)).toEqual(["NamesAccepted=False", "Established=False"]);
    expect(object["status"]).toMatchObject({ acceptedNames: { plural: "", kind: "" } });
    registry.setCrd(object);
    expect(registry.find("demo.example.org", "v1", "gadgets")).toBeUndefined();
  });

  test("that clash with a built-in kind are not accepted either", () => {
    const Job = { ...Widget, group: "batch", plural: "tasks", singular: "task", kind: "Job", listKind: "JobList" };
    expect(conditions(create(createRegistry({ now: () => now }), toCrd(Job)).object)).toContain("NamesAccepted=False");
  });

  test("become free when the definition that had them goes", () => {
    const registry = registryWith(toCrd(Widget));
    registry.removeCrd("widgets.demo.example.org");
    expect(registry.find("demo.example.org", "v1", "widgets")).toBeUndefined();
    expect(conditions(create(registry, toCrd(Other)).object)).toEqual(["NamesAccepted=True", "Established=True"]);
  });

  test("in force stay in force when an update asks for names that clash", () => {
    const registry = registryWith(toCrd(Widget), toCrd({ ...Other, shortNames: [] }));
    const crds = resource(registry, "apiextensions.k8s.io", "v1", "customresourcedefinitions");
    const old = create(registryWith(), toCrd({ ...Other, shortNames: [] })).object;
    const spec = old["spec"] as JsonObject;
    const changed = { ...old, spec: { ...spec, names: { ...(spec["names"] as JsonObject), shortNames: ["wd"] } } };
    const updated = crds.prepareForUpdate(changed, old);
    expect(conditions(updated)).toEqual(["NamesAccepted=False", "Established=True"]);
    expect((updated["status"] as JsonObject)["acceptedNames"]).not.toHaveProperty("shortNames");
  });
});

test("listeners hear of every change, until they leave", () => {
  const registry = createRegistry({ now: () => now });
  const before = registry.generation;
  let heard = 0;
  const leave = registry.onChange(() => heard++);
  registry.setCrd(create(registry, toCrd(Widget)).object);
  registry.removeCrd("widgets.demo.example.org");
  registry.removeCrd("unheard.of");
  leave();
  registry.setCrd(create(registry, toCrd(Widget)).object);
  expect(heard).toBe(2);
  expect(registry.generation).toBe(before + 3);
});
