import { describe, expect, test } from "vitest";
import { type JsonObject, textAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { ConfigMap, Pod } from "#kernel/model/index.ts";
import { definitionNames } from "#kernel/specs/index.ts";
import { createRegistry } from "../crds/registry.ts";
import { writeNew, writeOver } from "../testing/write-steps.ts";
import { type BuiltIn, everyVerb, type Rule, serveBuiltIn, statusOnly, textField } from "./built-in.ts";
import { builtInKinds } from "./built-in-kinds.ts";

const table = { columns: [], row: () => [] };
const plain: BuiltIn = { type: ConfigMap, definition: definitionNames.configMap, table };
const map = (data: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "x", ...metadata },
  data,
});
/** Refuses a value; as what, is up to the caller. */
const refuses =
  (value: string, kind: "errors" | "unsupported" = "errors"): Rule =>
  (object, found) => {
    const given = textAt(object, "data", "k");
    if (given === value) found[kind].push(fieldError.invalid("data.k", given, "must be something else"));
  };
const refusal = (value: string) => `Invalid data.k: Invalid value: "${value}": must be something else`;

describe("a kind that says nothing of itself", () => {
  const resource = serveBuiltIn(plain);

  test("has no subresources, no generation, no period and no fields to select by", () => {
    expect(resource).toMatchObject({
      custom: false,
      listKind: "ConfigMapList",
      verbs: everyVerb,
      subresources: [],
      allowsUnconditionalUpdate: true,
      hasGeneration: false,
      fieldLabels: [],
      warnings: [],
    });
    expect(resource.gracePeriodSeconds(map())).toBe(0);
    expect(resource.fieldValue(map(), "data.k")).toBeUndefined();
    expect(resource).not.toHaveProperty("storage");
  });

  test("keeps an object that is right as the very object it was", () => {
    const object = map({ k: "v" });
    expect(resource.prune(object).object).toBe(object);
    expect(resource.withDefaults(object)).toBe(object);
    expect(resource.prepareForCreate(object)).toBe(object);
    expect(resource.prepareForUpdate(object, map())).toBe(object);
    expect(resource.validateCreate(object)).toEqual({ causes: [], warnings: [] });
  });

  test("checks types by its definition", () => {
    expect(writeNew(resource, map({ k: 1 })).errors).toEqual([expect.stringMatching(/^TypeInvalid data\.k: /)]);
    expect(writeNew(resource, { ...map(), typo: 1 }).unknown).toEqual(["typo"]);
  });
});

describe("rules", () => {
  test("run after types: what is of the wrong type is all that is said", () => {
    const resource = serveBuiltIn({ ...plain, rules: [refuses("bad")] });
    expect(writeNew(resource, map({ k: "bad" })).errors).toEqual([refusal("bad")]);
    expect(writeNew(resource, map({ k: "bad", l: 1 })).errors).toEqual([expect.stringMatching(/^TypeInvalid data\.l/)]);
  });

  test("refuse what this server cannot do as well, after what is wrong", () => {
    const resource = serveBuiltIn({ ...plain, rules: [refuses("x", "unsupported"), refuses("x")] });
    const found = writeNew(resource, map({ k: "x" })).errors;
    expect(found).toEqual([refusal("x")]);
  });

  test("may warn, each warning once", () => {
    const warns: Rule = (_, { warnings }) => warnings.push("careful");
    const resource = serveBuiltIn({ ...plain, rules: [warns, warns], updateRules: [warns] });
    expect(writeOver(resource, map(), map({ k: "v" }))).toMatchObject({ errors: [], warnings: ["careful"] });
  });

  test("that came after an object do not stand in the way of its changes, but for those that make it worse", () => {
    const resource = serveBuiltIn({ ...plain, rules: [refuses("bad"), refuses("worse")] });
    const old = map({ k: "bad" });
    expect(writeOver(resource, old, map({ k: "bad" }, { labels: { a: "b" } })).errors).toEqual([]);
    expect(writeOver(resource, old, map({ k: "worse" })).errors).toEqual([refusal("worse")]);
    expect(writeOver(resource, map({ k: "good" }), map({ k: "bad" })).errors).toEqual([refusal("bad")]);
  });

  test("of a change always stand, whatever the object was before", () => {
    const fixed: Rule = (object, { errors }, old) => {
      if (textAt(object, "data", "k") !== textAt(old, "data", "k"))
        errors.push(fieldError.forbidden("data.k", "fixed"));
    };
    const resource = serveBuiltIn({ ...plain, rules: [refuses("bad")], updateRules: [fixed] });
    expect(writeOver(resource, map({ k: "bad" }), map({ k: "good" })).errors).toEqual([
      "Forbidden data.k: Forbidden: fixed",
    ]);
    expect(writeNew(resource, map({ k: "good" })).errors).toEqual([]);
  });

  test("of a status are asked there alone", () => {
    const resource = serveBuiltIn({ ...plain, rules: [refuses("bad")], statusRules: [refuses("odd")] });
    expect(writeNew(resource, map({ k: "odd" })).errors).toEqual([]);
    const odd = map({ k: "odd" });
    expect(resource.validateStatusUpdate(odd, odd).causes).toHaveLength(1);
    expect(resource.validateStatusUpdate(map({ k: "bad" }), odd).causes).toEqual([]);
  });
});

describe("a kind with a status", () => {
  const resource = serveBuiltIn({
    type: Pod,
    definition: definitionNames.pod,
    table,
    subresources: ["status"],
    defaults: (object) => ({ ...object, defaulted: true }),
    prepareForCreate: (object) => ({ ...object, prepared: true }),
    prepareForUpdate: (object, old) => ({ ...object, from: old["kind"] }),
  });
  const old: JsonObject = { kind: "Pod", metadata: { name: "x" }, spec: { a: 1 }, status: { phase: "Running" } };

  test("drops the one that is sent with a new object, before the kind prepares it", () => {
    expect(resource.prepareForCreate({ kind: "Pod", status: { phase: "Failed" } })).toEqual({
      kind: "Pod",
      prepared: true,
    });
  });

  test("keeps the stored one on the main endpoint, before the kind prepares the change", () => {
    expect(resource.prepareForUpdate({ kind: "Pod", status: { phase: "Failed" } }, old)).toEqual({
      kind: "Pod",
      status: { phase: "Running" },
      from: "Pod",
    });
  });

  test("takes nothing but the status on its own endpoint", () => {
    const sent = {
      kind: "Odd",
      metadata: { name: "y", labels: { a: "b" } },
      spec: { a: 2 },
      status: { phase: "Failed" },
    };
    expect(resource.prepareForStatusUpdate(sent, old)).toEqual({ ...old, status: { phase: "Failed" } });
    expect(resource.prepareForStatusUpdate({ kind: "Pod" }, old)).toEqual({
      kind: "Pod",
      metadata: { name: "x" },
      spec: { a: 1 },
    });
  });

  test("records who changed it", () => {
    const managedFields = [{ manager: "m" }];
    expect(statusOnly({ metadata: { managedFields }, status: {} }, old)["metadata"]).toEqual({
      name: "x",
      managedFields,
    });
    const managed = { ...old, metadata: { name: "x", managedFields } };
    expect(statusOnly({ metadata: {}, status: {} }, managed)["metadata"]).toBe(managed.metadata);
    expect(statusOnly(managed, managed)).toBe(managed);
  });
});

test("a field of text is empty where there is none", () => {
  const read = textField("data", "k");
  expect([read(map({ k: "v" })), read(map({ k: 1 })), read(map()), read({})]).toEqual(["v", "", "", ""]);
});

describe("all built-in kinds", () => {
  test("are told apart by path and by kind", () => {
    const paths = builtInKinds.map(({ type }) => `${type.group}/${type.version}/${type.plural}`);
    const kinds = builtInKinds.map(({ type }) => `${type.group}/${type.version}/${type.kind}`);
    expect([new Set(paths).size, new Set(kinds).size]).toEqual([paths.length, kinds.length]);
  });

  test("stand in the order of discovery: core first, then by group, then by name", () => {
    const names = builtInKinds.map(({ type }) => `${type.group}/${type.plural}`);
    expect(names).toEqual([...names].sort((a, b) => (a < b ? -1 : 1)));
  });

  test("complete an empty object the same way twice, and answer about it", () => {
    for (const resource of createRegistry({ now: () => 0 }).all()) {
      const { apiVersion, kind } = { apiVersion: resource.type.version, kind: resource.type.kind };
      const once = resource.withDefaults({ apiVersion, kind, metadata: { name: "x" } });
      expect(resource.withDefaults(once)).toEqual(once);
      expect(() => resource.validateCreate(resource.prepareForCreate(once))).not.toThrow();
      for (const label of resource.fieldLabels) expect(typeof resource.fieldValue(once, label)).toBe("string");
    }
  });

  // Besides metadata.name and metadata.namespace; those of Events are told with their two forms.
  const selectable: readonly (readonly [string, JsonObject, Readonly<Record<string, string>>])[] = [
    [
      "pods",
      {
        spec: { nodeName: "n", restartPolicy: "Never", schedulerName: "s", serviceAccountName: "a", hostNetwork: true },
        status: { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }], nominatedNodeName: "m" },
      },
      {
        "spec.nodeName": "n",
        "spec.restartPolicy": "Never",
        "spec.schedulerName": "s",
        "spec.serviceAccountName": "a",
        "spec.hostNetwork": "true",
        "status.phase": "Running",
        "status.podIP": "10.0.0.1",
        "status.podIPs": "10.0.0.1",
        "status.nominatedNodeName": "m",
      },
    ],
    ["secrets", { type: "Opaque" }, { type: "Opaque" }],
    ["namespaces", { status: { phase: "Active" } }, { "status.phase": "Active" }],
    [
      "services",
      { spec: { clusterIP: "None", type: "ClusterIP" } },
      { "spec.clusterIP": "None", "spec.type": "ClusterIP" },
    ],
    ["jobs", { status: { succeeded: 2 } }, { "status.successful": "2" }],
    ["jobs", {}, { "status.successful": "0" }],
    ["replicasets", { status: { replicas: 3 } }, { "status.replicas": "3" }],
    ["nodes", { spec: { unschedulable: true } }, { "spec.unschedulable": "true" }],
    ["nodes", {}, { "spec.unschedulable": "false" }],
    ["certificatesigningrequests", { spec: { signerName: "a/b" } }, { "spec.signerName": "a/b" }],
  ];
  const all = createRegistry({ now: () => 0 }).all();

  test.each(selectable)("%s are selected by their fields: %j", (plural, object, values) => {
    const resource = all.find(({ type }) => type.plural === plural);
    const found = resource?.fieldLabels.map((label) => [label, resource.fieldValue(object, label)]);
    expect(Object.fromEntries(found ?? [])).toEqual(values);
  });

  test("no other kind is selected by fields", () => {
    const plurals = all.filter(({ fieldLabels }) => fieldLabels.length > 0).map(({ type }) => type.plural);
    expect(new Set(plurals)).toEqual(new Set(["events", ...selectable.map(([plural]) => plural)]));
  });
});
