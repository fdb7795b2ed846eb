import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { served, writeNew, writeOver } from "../testing/write-steps.ts";
import { eventKind, coreEventKind, fromCoreEvent, toCoreEvent } from "./event.ts";
import { secretKind } from "./secret.ts";
import { configMapKind, leaseKind, namespaceKind } from "./small-kinds.ts";

const secrets = served(secretKind);
const configMaps = served(configMapKind);
const namespaces = served(namespaceKind);
const leases = served(leaseKind);

const object = (kind: string, more: JsonObject): JsonObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name: "x" },
  ...more,
});
const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("Namespace", () => {
  const created = writeNew(namespaces, object("Namespace", {})).object;

  test("is born active, with the finalizer that empties it and the label that names it", () => {
    expect(created).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": "x" } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
  });

  test("keeps its name label and its finalizers whatever an update says", () => {
    const changed = {
      ...created,
      metadata: { name: "x", labels: { "kubernetes.io/metadata.name": "y", a: "b" } },
      spec: {},
    };
    expect(writeOver(namespaces, created, changed).object).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": "x", a: "b" } },
      spec: { finalizers: ["kubernetes"] },
    });
  });

  test("can be selected by its phase", () => {
    expect(namespaces.fieldValue(created, "status.phase")).toBe("Active");
    expect(namespaces.fieldValue(created, "spec.x")).toBeUndefined();
  });
});

describe("Secret", () => {
  test("folds stringData into data, where it wins", () => {
    const { object: stored, errors } = writeNew(
      secrets,
      object("Secret", { data: { a: base64("old"), b: base64("b") }, stringData: { a: "new" } }),
    );
    expect(errors).toEqual([]);
    expect(stored).toMatchObject({ type: "Opaque", data: { a: base64("new"), b: base64("b") } });
    expect(stored).not.toHaveProperty("stringData");
  });

  test.each<[string, JsonObject, string[]]>([
    ["a value that is not base64", { data: { a: "%" } }, ["Invalid data.a: Invalid value: must be base64"]],
    [
      "a value that is no text",
      { data: { a: 1 } },
      ["TypeInvalid data.a: Invalid value: must be of type string, not integer"],
    ],
    [
      "a text that is no text",
      { stringData: { a: 1 } },
      ["TypeInvalid data.a: Invalid value: must be of type string, not integer"],
    ],
    [
      "a key with a slash",
      { data: { "a/b": "" } },
      ['Invalid data[a/b]: Invalid value: "a/b": must consist of letters, digits, "-", "_" and "."'],
    ],
    [
      "a key that climbs",
      { data: { "..": "" } },
      ['Invalid data[..]: Invalid value: "..": must not be "." or begin with ".."'],
    ],
    [
      "a TLS pair without its key",
      { type: "kubernetes.io/tls", data: { "tls.crt": "" } },
      ["Required data[tls.key]: Required value"],
    ],
    [
      "a login with neither name nor password",
      { type: "kubernetes.io/basic-auth" },
      ["Required data[username]: Required value", "Required data[password]: Required value"],
    ],
    [
      "registry credentials that are no JSON",
      { type: "kubernetes.io/dockerconfigjson", stringData: { ".dockerconfigjson": "hunter2" } },
      ['Invalid data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": must be a JSON object'],
    ],
    [
      "a token without its account",
      { type: "kubernetes.io/service-account-token" },
      ["Required metadata.annotations[kubernetes.io/service-account.name]: Required value"],
    ],
    [
      "more than a mebibyte",
      { stringData: { a: "x".repeat(1_048_577) } },
      ["TooLong data: Too long: may not be more than 1048576 bytes"],
    ],
  ])("refuses %s", (_, more, errors) => {
    expect(writeNew(secrets, object("Secret", more)).errors).toEqual(errors);
  });

  test("keeps its type, and its data once it is immutable", () => {
    const old = writeNew(secrets, object("Secret", { data: { a: "" }, immutable: true })).object;
    expect(writeOver(secrets, old, { ...old, type: "x/y" }).errors).toEqual([
      'Invalid type: Invalid value: "x/y": field is immutable',
    ]);
    expect(writeOver(secrets, old, { ...old, data: {}, immutable: false }).errors).toEqual([
      "Forbidden immutable: Forbidden: field is immutable when `immutable` is set",
      "Forbidden data: Forbidden: field is immutable when `immutable` is set",
    ]);
    expect(writeOver(secrets, old, { ...old, metadata: { name: "x", labels: { a: "b" } } }).errors).toEqual([]);
  });
});

describe("ConfigMap", () => {
  test("takes a key named like a part of JavaScript", () => {
    const data = JSON.parse('{"__proto__":"a","constructor":"b"}') as JsonObject;
    const written = writeNew(configMaps, object("ConfigMap", { data }));
    expect(JSON.stringify(written.object["data"])).toBe('{"__proto__":"a","constructor":"b"}');
    expect(written.errors).toEqual([]);
  });

  test.each<[string, JsonObject, string[]]>([
    ["a number", { data: { a: 1 } }, ["TypeInvalid data.a: Invalid value: 1: must be of type string, not integer"]],
    [
      "one key in both maps",
      { data: { a: "" }, binaryData: { a: "" } },
      ['Invalid data[a]: Invalid value: "a": the key stands in binaryData too'],
    ],
    [
      "more than a mebibyte",
      { data: { a: "x".repeat(1_048_570), b: "1234567" } },
      ["TooLong : Too long: may not be more than 1048576 bytes"],
    ],
  ])("refuses %s", (_, more, errors) => {
    expect(writeNew(configMaps, object("ConfigMap", more)).errors).toEqual(errors);
  });

  test("reads null as Go does: an empty text under a key, nothing in a field", () => {
    const { object: stored, unknown } = writeNew(configMaps, {
      ...object("ConfigMap", { data: { a: null } }),
      metadata: { name: "x", labels: null },
    });
    expect({ data: stored["data"], unknown }).toEqual({ data: { a: "" }, unknown: [] });
  });
});

describe("Lease", () => {
  test("may be given back by an empty holder, as older clients do", () => {
    const spec = { holderIdentity: "", leaseDurationSeconds: 1 };
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "x" }, spec };
    expect(writeNew(leases, lease)).toMatchObject({ errors: [], object: { spec } });
  });
  test("is only written over by those who read it", () => {
    expect(leases.allowsUnconditionalUpdate).toBe(false);
  });
  test("refuses a duration of nothing and a count below zero", () => {
    const { errors } = writeNew(leases, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "x" },
      spec: { leaseDurationSeconds: 0, leaseTransitions: -1 },
    });
    expect(errors).toHaveLength(2);
  });
});

describe("Event", () => {
  const core: JsonObject = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "x", namespace: "default" },
    involvedObject: { kind: "Pod", namespace: "default", name: "p", uid: "u" },
    reason: "Started",
    message: "container started",
    type: "Normal",
    source: { component: "runner" },
    reportingComponent: "runner",
    count: 2,
    firstTimestamp: "2026-01-31T12:00:00Z",
    lastTimestamp: "2026-01-31T12:00:00Z",
  };

  test("has two forms that lead back to each other", () => {
    const other = fromCoreEvent(core);
    expect(other).toEqual({
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "x", namespace: "default" },
      regarding: { kind: "Pod", namespace: "default", name: "p", uid: "u" },
      reason: "Started",
      note: "container started",
      type: "Normal",
      deprecatedSource: { component: "runner" },
      reportingController: "runner",
      deprecatedCount: 2,
      deprecatedFirstTimestamp: "2026-01-31T12:00:00Z",
      deprecatedLastTimestamp: "2026-01-31T12:00:00Z",
    });
    expect(toCoreEvent(other)).toEqual(core);
  });

  test("in either form is valid and complete by its own schema", () => {
    for (const [kind, event] of [
      [coreEventKind, core],
      [
        eventKind,
        {
          ...fromCoreEvent(core),
          eventTime: "2026-01-31T12:00:00.000000Z",
          action: "Starting",
          reportingInstance: "r-1",
        },
      ],
    ] as const) {
      expect(writeNew(served(kind), event)).toMatchObject({ errors: [], unknown: [] });
    }
  });

  test("stands in the namespace of its object", () => {
    const wrong = { ...core, metadata: { name: "x", namespace: "other" } };
    expect(writeNew(served(coreEventKind), wrong).errors).toEqual([
      'Invalid involvedObject.namespace: Invalid value: "default": does not match the namespace of the event',
    ]);
  });

  test("of the newer API says who, what and when", () => {
    const { errors } = writeNew(served(eventKind), {
      ...fromCoreEvent(core),
      eventTime: "2026-01-31T12:00:00.000000Z",
      type: "Odd",
      note: "x".repeat(2000),
    });
    expect(errors.map((error) => error.split(":")[0])).toEqual([
      "Required reportingInstance",
      "Required action",
      "NotSupported type",
      "TooLong note",
    ]);
    expect(writeNew(served(eventKind), fromCoreEvent(core)).errors).toEqual(["Required eventTime: Required value"]);
  });

  test("is selected by what it is about, under the names of its form", () => {
    expect(served(coreEventKind).fieldValue(core, "involvedObject.uid")).toBe("u");
    expect(served(coreEventKind).fieldValue(core, "source")).toBe("runner");
    expect(served(eventKind).fieldValue(fromCoreEvent(core), "regarding.name")).toBe("p");
    expect(served(eventKind).fieldValue(fromCoreEvent(core), "involvedObject.name")).toBeUndefined();
    const about = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
    expect(served(coreEventKind).fieldLabels).toEqual([
      ...about.map((name) => `involvedObject.${name}`),
      "reason",
      "reportingComponent",
      "source",
      "type",
    ]);
    expect(served(eventKind).fieldLabels).toEqual([
      ...about.map((name) => `regarding.${name}`),
      "reason",
      "reportingController",
      "type",
    ]);
  });
});
