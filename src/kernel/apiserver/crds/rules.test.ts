import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { writeNew, writeOver } from "../testing/write-steps.ts";
import { compileCelRule } from "./cel-rules.ts";
import { createRegistry } from "./registry.ts";

const registry = createRegistry({ now: () => Date.UTC(2026, 0, 31, 12) });
const crds = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions") as ServedResource;

const version = (more: JsonObject = {}): JsonObject => ({
  name: "v1",
  served: true,
  storage: true,
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: { type: "object", properties: { n: { type: "integer" }, s: { type: "string" }, o: { type: "object" } } },
      },
    },
  },
  ...more,
});
const names = { plural: "widgets", kind: "Widget" };
const crd = (spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.demo.example.org", ...metadata },
  spec: { group: "demo.example.org", names, scope: "Namespaced", versions: [version()], ...spec },
});
const fieldsOf = (object: JsonObject) => writeNew(crds, object).errors.map((error) => error.split(": ")[0]);

test("the names that are left out follow from the kind", () => {
  const { object, errors, unknown } = writeNew(crds, crd());
  expect({ errors, unknown }).toEqual({ errors: [], unknown: [] });
  expect(object["spec"]).toMatchObject({
    names: { singular: "widget", listKind: "WidgetList" },
    conversion: { strategy: "None" },
  });
});

describe("refuses, naming the field,", () => {
  const scale = { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n" };
  const schemaOf = (properties: JsonObject): JsonObject => ({
    schema: { openAPIV3Schema: { type: "object", properties } },
  });
  const path = "spec.versions[0]";
  const cases: [string, JsonObject, string[]][] = [
    ["a name that does not follow", crd({}, { name: "other.demo.example.org" }), ["Invalid metadata.name"]],
    ["a group without a dot", crd({ group: "demo" }, { name: "widgets.demo" }), ["Invalid spec.group"]],
    [
      "a plural with capitals",
      crd({ names: { plural: "Widgets", kind: "Widget" } }, { name: "Widgets.demo.example.org" }),
      ["Invalid spec.names.plural"],
    ],
    [
      "a kind that is no word",
      crd({ names: { plural: "widgets", kind: "My Widget" } }),
      ["Invalid spec.names.singular", "Invalid spec.names.kind", "Invalid spec.names.listKind"],
    ],
    ["a list kind like the kind", crd({ names: { ...names, listKind: "Widget" } }), ["Invalid spec.names.listKind"]],
    [
      "a short name with a blank",
      crd({ names: { ...names, shortNames: ["w d"] } }),
      ["Invalid spec.names.shortNames[0]"],
    ],
    ["an unknown scope", crd({ scope: "World" }), ["NotSupported spec.scope"]],
    ["no versions", crd({ versions: [] }), ["Required spec.versions"]],
    ["two storage versions", crd({ versions: [version(), version({ name: "v2" })] }), ["Invalid spec.versions"]],
    ["no storage version", crd({ versions: [version({ storage: false })] }), ["Invalid spec.versions"]],
    [
      "one version twice",
      crd({ versions: [version(), version({ storage: false })] }),
      ["Duplicate spec.versions[1].name"],
    ],
    [
      "a version without a schema",
      crd({ versions: [version({ schema: {} })] }),
      [`Required ${path}.schema.openAPIV3Schema`],
    ],
    [
      "a schema that is not structural",
      crd({ versions: [version(schemaOf({ a: {} }))] }),
      [`Required ${path}.schema.openAPIV3Schema.properties.a.type`],
    ],
    [
      "a default against its schema",
      crd({ versions: [version(schemaOf({ a: { type: "integer", default: "x" } }))] }),
      [`TypeInvalid ${path}.schema.openAPIV3Schema.properties.a.default`],
    ],
    [
      "a column without a path",
      crd({ versions: [version({ additionalPrinterColumns: [{ name: "A", type: "string" }] })] }),
      [`Required ${path}.additionalPrinterColumns[0].jsonPath`],
    ],
    [
      "a column of an unknown type and an unreadable path",
      crd({ versions: [version({ additionalPrinterColumns: [{ name: "A", type: "text", jsonPath: ".a[" }] })] }),
      [`NotSupported ${path}.additionalPrinterColumns[0].type`, `Invalid ${path}.additionalPrinterColumns[0].jsonPath`],
    ],
    [
      "a scale that is not where it should be",
      crd({ versions: [version({ subresources: { scale: { ...scale, specReplicasPath: ".status.n" } } })] }),
      [`Invalid ${path}.subresources.scale.specReplicasPath`],
    ],
    [
      "a selectable object, and one that is not there",
      crd({ versions: [version({ selectableFields: [{ jsonPath: ".spec.o" }, { jsonPath: ".spec.q" }] })] }),
      [`Invalid ${path}.selectableFields[0].jsonPath`, `Invalid ${path}.selectableFields[1].jsonPath`],
    ],
    [
      "nine selectable fields",
      crd({ versions: [version({ selectableFields: Array.from({ length: 9 }, () => ({ jsonPath: ".spec.n" })) })] }),
      [
        `TooMany ${path}.selectableFields`,
        ...Array.from({ length: 8 }, (_, index) => `Duplicate ${path}.selectableFields[${index + 1}].jsonPath`),
      ],
    ],
    [
      "a warning of a version that is not deprecated",
      crd({ versions: [version({ deprecationWarning: "x" })] }),
      [`Invalid ${path}.deprecationWarning`],
    ],
    [
      "a warning that is no header",
      crd({ versions: [version({ deprecated: true, deprecationWarning: "gone\nsoon" })] }),
      [`Invalid ${path}.deprecationWarning`],
    ],
    [
      "an empty warning, and one that is too long",
      crd({
        versions: [
          version({ deprecated: true, deprecationWarning: "" }),
          version({ name: "v2", storage: false, deprecated: true, deprecationWarning: "x".repeat(257) }),
        ],
      }),
      [`Invalid ${path}.deprecationWarning`, "Invalid spec.versions[1].deprecationWarning"],
    ],
    [
      "no name at all",
      crd({ names: {}, group: "" }, { name: "" }),
      [
        "Invalid metadata.name",
        "Required spec.group",
        "Required spec.names.plural",
        "Required spec.names.singular",
        "Required spec.names.kind",
        "Required spec.names.listKind",
      ],
    ],
    [
      "a category that is no label",
      crd({ names: { ...names, categories: ["All!"] } }),
      ["Invalid spec.names.categories[0]"],
    ],
    ["a version that is no label", crd({ versions: [version({ name: "V1" })] }), [`Invalid ${path}.name`]],
    [
      "a column without a name, of an unknown format",
      crd({
        versions: [version({ additionalPrinterColumns: [{ name: "", type: "string", format: "f", jsonPath: ".a" }] })],
      }),
      [`Required ${path}.additionalPrinterColumns[0].name`, `NotSupported ${path}.additionalPrinterColumns[0].format`],
    ],
    [
      "a scale without paths, and one that reads a list",
      crd({
        versions: [
          version({ subresources: { scale: { labelSelectorPath: ".metadata.labels" } } }),
          version({
            name: "v2",
            storage: false,
            subresources: { scale: { ...scale, statusReplicasPath: ".status.list[0]" } },
          }),
        ],
      }),
      [
        `Required ${path}.subresources.scale.specReplicasPath`,
        `Required ${path}.subresources.scale.statusReplicasPath`,
        `Invalid ${path}.subresources.scale.labelSelectorPath`,
        "Invalid spec.versions[1].subresources.scale.statusReplicasPath",
      ],
    ],
    [
      "selection by nothing, by metadata, by an item of a list",
      crd({
        versions: [
          version({
            selectableFields: [{ jsonPath: "" }, { jsonPath: ".metadata.name" }, { jsonPath: ".spec.list[0]" }],
          }),
        ],
      }),
      [0, 1, 2].map((index) => `${index === 0 ? "Required" : "Invalid"} ${path}.selectableFields[${index}].jsonPath`),
    ],
    [
      "an unknown strategy of conversion",
      crd({ conversion: { strategy: "Magic" } }),
      ["NotSupported spec.conversion.strategy"],
    ],
    [
      "conversion by webhook between versions",
      crd({ versions: [version(), version({ name: "v2", storage: false })], conversion: { strategy: "Webhook" } }),
      ["Forbidden spec.conversion.strategy"],
    ],
    ["unknown fields kept as a rule", crd({ preserveUnknownFields: true }), ["Invalid spec.preserveUnknownFields"]],
  ];
  test.each(cases)("%s", (_, object, expected) => {
    expect(fieldsOf(object)).toEqual(expected);
  });

  test.each<[string | undefined, string[]]>([
    [undefined, ["Required metadata.annotations[api-approved.kubernetes.io]"]],
    ["maybe", ["Invalid metadata.annotations[api-approved.kubernetes.io]"]],
    ["https://github.com/kubernetes/kubernetes/pull/1", []],
    ["unapproved, experimental", []],
  ])("a group of the Kubernetes community whose approval is %j", (approval, expected) => {
    const annotations = approval === undefined ? {} : { "api-approved.kubernetes.io": approval };
    expect(fieldsOf(crd({ group: "demo.k8s.io" }, { name: "widgets.demo.k8s.io", annotations }))).toEqual(expected);
  });
});

test("a conversion webhook of a single version is set aside with a warning", () => {
  const conversion = {
    strategy: "Webhook",
    webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: "https://x.example" } },
  };
  const { object, errors, warnings } = writeNew(crds, crd({ conversion }));
  expect(errors).toEqual([]);
  expect(warnings).toEqual(["spec.conversion: the webhook is not called; there is one version and nothing to convert"]);
  expect(object["spec"]).toMatchObject({ conversion: { strategy: "None" } });
});

describe("validation rules in a schema", () => {
  const ruled = crd({
    versions: [
      version({
        schema: {
          openAPIV3Schema: {
            type: "object",
            "x-kubernetes-validations": [{ rule: "self.spec.n > 0" }],
            properties: { spec: { type: "object", properties: { n: { type: "integer" } } } },
          },
        },
      }),
    ],
  });

  test("are stored with a warning where nobody evaluates them", () => {
    expect(writeNew(crds, ruled)).toMatchObject({
      errors: [],
      warnings: [
        "spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations[0]: the rule is stored and not evaluated: rules are not evaluated by this server",
      ],
    });
  });

  test("are asked of every object where somebody does", () => {
    const evaluating = createRegistry({ now: () => 0, compileRule: compileCelRule });
    const kind = evaluating.find("apiextensions.k8s.io", "v1", "customresourcedefinitions") as ServedResource;
    const written = writeNew(kind, ruled);
    expect(written).toMatchObject({ errors: [], warnings: [] });
    evaluating.setCrd(written.object);
    const widgets = evaluating.find("demo.example.org", "v1", "widgets") as ServedResource;
    const widget = (n: number) => ({
      apiVersion: "demo.example.org/v1",
      kind: "Widget",
      metadata: { name: "w" },
      spec: { n },
    });
    expect(writeNew(widgets, widget(1)).errors).toEqual([]);
    expect(writeNew(widgets, widget(0)).errors).toEqual([
      'Invalid : Invalid value: "object": failed rule: self.spec.n > 0',
    ]);
  });

  test("that nobody can read are refused where they are written", () => {
    const registry = createRegistry({ now: () => 0, compileRule: compileCelRule });
    const kind = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions") as ServedResource;
    const broken = JSON.parse(JSON.stringify(ruled).replace("self.spec.n > 0", "self.spec.n >")) as JsonObject;
    expect(writeNew(kind, broken).errors.map((error) => error.split(": ")[0])).toEqual([
      "Invalid spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations[0].rule",
    ]);
  });
});

describe("an update", () => {
  const { object: old } = writeNew(crds, crd());
  const update = (spec: JsonObject) =>
    writeOver(crds, old, { ...old, spec: { ...(old["spec"] as JsonObject), ...spec } });

  test("may add a version and move the stored one; the old one is remembered", () => {
    const { errors, object } = update({ versions: [version({ storage: false }), version({ name: "v2" })] });
    expect(errors).toEqual([]);
    expect(object["status"]).toMatchObject({ storedVersions: ["v1", "v2"] });
  });

  test("may not drop a version in which objects may be stored", () => {
    expect(update({ versions: [version({ name: "v2" })] }).errors).toEqual([
      'Invalid status.storedVersions[0]: Invalid value: "v1": must appear in spec.versions',
    ]);
  });

  test("may not change scope or kind of what is established", () => {
    expect(
      update({ scope: "Cluster", names: { ...names, kind: "Gadget" } }).errors.map((error) => error.split(":")[0]),
    ).toEqual(["Invalid spec.scope", "Invalid spec.names.kind"]);
  });

  test("that changes no spec leaves the conditions as they are", () => {
    const labelled = { ...old, metadata: { ...(old["metadata"] as JsonObject), labels: { a: "b" } } };
    expect(writeOver(crds, old, labelled).object["status"]).toBe(old["status"]);
  });

  test("cannot take the finalizer away, unless the definition is being deleted", () => {
    const { finalizers: _gone, ...metadata } = old["metadata"] as JsonObject;
    expect(writeOver(crds, old, { ...old, metadata }).object["metadata"]).toHaveProperty("finalizers");
    const leaving = {
      ...old,
      metadata: { ...(old["metadata"] as JsonObject), deletionTimestamp: "2026-01-31T12:00:00Z" },
    };
    expect(writeOver(crds, leaving, { ...leaving, metadata }).object["metadata"]).not.toHaveProperty("finalizers");
  });
});
