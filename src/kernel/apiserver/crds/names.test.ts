import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { ConfigMap, Job } from "#kernel/model/index.ts";
import { scalarText } from "#kernel/specs/index.ts";
import { readDefinition } from "./definition.ts";
import { findClash, namesAsJson, singularOf } from "./names.ts";
import { createRegistry } from "./registry.ts";

const crd = (group: string, names: JsonObject): JsonObject => ({
  metadata: { name: `${scalarText(names["plural"])}.${group}` },
  spec: {
    group,
    names: { singular: "", kind: "", listKind: "", ...names },
    scope: "Namespaced",
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
});
const registry = createRegistry({ now: () => 0 });
const clash = (group: string, names: JsonObject) => findClash(readDefinition(crd(group, names)), registry)?.reason;

describe("names clash with built-in kinds of the same group", () => {
  test.each<[string, JsonObject, string | undefined]>([
    ["batch", { plural: "jobs", kind: "Task", listKind: "TaskList" }, "PluralConflict"],
    ["batch", { plural: "tasks", singular: "job", kind: "Task" }, "SingularConflict"],
    ["batch", { plural: "tasks", kind: "Job" }, "KindConflict"],
    ["batch", { plural: "tasks", kind: "Task", listKind: "JobList" }, "ListKindConflict"],
    ["events.k8s.io", { plural: "news", kind: "News", shortNames: ["ev"] }, "ShortNamesConflict"],
    ["batch", { plural: "tasks", kind: "Task", shortNames: ["po"] }, undefined],
    ["demo.example.org", { plural: "jobs", singular: "job", kind: "Job", listKind: "JobList" }, undefined],
  ])("%s %j: %s", (group, names, reason) => {
    expect(clash(group, names)).toBe(reason);
  });

  test("and the first of several is named", () => {
    const found = findClash(readDefinition(crd("batch", { plural: "jobs", singular: "job", kind: "Job" })), registry);
    expect(found).toEqual({ reason: "PluralConflict", message: '"jobs" is already in use' });
  });

  test("but empty names are no names", () => {
    expect(clash("batch", { plural: "tasks" })).toBeUndefined();
  });
});

test("the singular is the kind in lower case unless it is given", () => {
  expect([singularOf(Job), singularOf({ ...ConfigMap, singular: "map" })]).toEqual(["job", "map"]);
});

test("empty lists of names are left out of what is stored", () => {
  const { names } = readDefinition(crd("g", { plural: "p", kind: "K" }));
  expect(namesAsJson(names)).toEqual({ plural: "p", singular: "", kind: "K", listKind: "" });
  expect(namesAsJson({ ...names, shortNames: ["s"], categories: ["all"] })).toMatchObject({
    shortNames: ["s"],
    categories: ["all"],
  });
});

describe("a definition read", () => {
  test("from nothing has nothing in it", () => {
    expect(readDefinition({})).toEqual({
      name: "",
      group: "",
      names: { plural: "", singular: "", kind: "", listKind: "", shortNames: [], categories: [] },
      acceptedNames: undefined,
      namespaced: false,
      versions: [],
      isEstablished: false,
    });
  });

  test("takes what is of another type for absent", () => {
    const odd = {
      metadata: { name: 1 },
      spec: { group: {}, names: { plural: [], shortNames: ["a", 1, null] }, scope: "namespaced", versions: [1, {}] },
    } as unknown as JsonObject;
    expect(readDefinition(odd)).toMatchObject({
      name: "",
      names: { plural: "", shortNames: ["a"] },
      namespaced: false,
      versions: [{ name: "", served: false, storage: false, hasStatus: false, columns: [], selectableFields: [] }],
    });
  });

  test("knows columns, subresources and selectable fields of its versions", () => {
    const version = {
      name: "v1",
      served: true,
      deprecated: true,
      deprecationWarning: "old",
      subresources: { status: {}, scale: { specReplicasPath: ".spec.n" } },
      additionalPrinterColumns: [
        { name: "A", type: "integer", jsonPath: ".spec.a", priority: 1, format: "int32", description: "d" },
        { name: "B", type: "odd", jsonPath: ".b" },
      ],
      selectableFields: [{ jsonPath: ".spec.color" }],
    };
    expect(readDefinition({ spec: { versions: [version] } }).versions).toEqual([
      {
        name: "v1",
        served: true,
        storage: false,
        deprecated: true,
        deprecationWarning: "old",
        schema: undefined,
        hasStatus: true,
        scale: { specReplicasPath: ".spec.n" },
        columns: [
          { name: "A", type: "integer", jsonPath: ".spec.a", priority: 1, format: "int32", description: "d" },
          { name: "B", type: "string", jsonPath: ".b", priority: 0 },
        ],
        selectableFields: [".spec.color"],
      },
    ]);
  });

  test("has accepted names only when its status says so", () => {
    const accepted = (acceptedNames: JsonObject) => readDefinition({ status: { acceptedNames } }).acceptedNames;
    expect(accepted({ plural: "", kind: "" })).toBeUndefined();
    expect(accepted({ plural: "ps", kind: "P" })).toMatchObject({ plural: "ps", kind: "P" });
  });
});
