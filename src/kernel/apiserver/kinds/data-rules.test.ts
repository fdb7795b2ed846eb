import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { served, writeNew, writeOver } from "../testing/write-steps.ts";
import { secretKind } from "./secret.ts";
import { configMapKind, dataKeyProblem, leaseKind, mostDataBytes, namespaceKind } from "./small-kinds.ts";

const secrets = served(secretKind);
const configMaps = served(configMapKind);
const object = (kind: string, more: JsonObject): JsonObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name: "x" },
  ...more,
});
const base64 = (text: string) => Buffer.from(text).toString("base64");
const brief = (errors: readonly string[]) => errors.map((error) => error.split(": ")[0]);

test.each<[string, boolean]>([
  ["a", true],
  [".hidden", true],
  ["A-b_c.D9", true],
  ["a".repeat(253), true],
  ["a".repeat(254), false],
  ["", false],
  [".", false],
  ["..", false],
  ["..data", false],
  ["a..b", true],
  ["a/b", false],
  ["a b", false],
  ["ä", false],
])("the key %j may be a file: %s", (key, expected) => {
  expect(dataKeyProblem(key) === undefined).toBe(expected);
});

describe("a config map", () => {
  const written = (more: JsonObject) => brief(writeNew(configMaps, object("ConfigMap", more)).errors);

  test.each<[string, JsonObject, string[]]>([
    ["one key twice", { data: { a: "" }, binaryData: { a: "" } }, ["Invalid data.a"]],
    ["a key that is no file", { binaryData: { "a/b": "" } }, ["Invalid binaryData[a/b]"]],
    ["bytes that are no base64", { binaryData: { a: "!" } }, ["Invalid binaryData.a"]],
    ["more data than allowed", { data: { a: "x".repeat(mostDataBytes + 1) } }, ["TooLong "]],
    [
      "more data than allowed, in both members together",
      { data: { a: "x".repeat(mostDataBytes) }, binaryData: { b: base64("x") } },
      ["TooLong "],
    ],
  ])("is refused with %s", (_, more, expected) => {
    expect(written(more).map((error) => error?.replace("data[a]", "data.a"))).toEqual(expected);
  });

  test("may be as large as allowed, counted in bytes", () => {
    expect(written({ data: { a: "ä".repeat(mostDataBytes / 2) } })).toEqual([]);
    expect(written({ data: { a: `${"ä".repeat(mostDataBytes / 2)}x` } })).toEqual(["TooLong "]);
  });

  test("that is immutable stays so, and may still be labelled", () => {
    const old = writeNew(configMaps, object("ConfigMap", { data: { a: "1" }, immutable: true })).object;
    const change = (more: JsonObject) => brief(writeOver(configMaps, old, { ...old, ...more }).errors);
    expect(change({ immutable: false })).toEqual(["Forbidden immutable"]);
    expect(change({ data: { a: "2" } })).toEqual(["Forbidden data"]);
    expect(change({ binaryData: { b: "" } })).toEqual(["Forbidden binaryData"]);
    expect(change({ binaryData: {} })).toEqual([]);
    expect(change({ metadata: { ...(old["metadata"] as JsonObject), labels: { a: "b" } } })).toEqual([]);
  });
});

describe("a secret", () => {
  const written = (more: JsonObject) => brief(writeNew(secrets, object("Secret", more)).errors);
  const json = base64("{}");

  test.each<[string, JsonObject, string[]]>([
    ["kubernetes.io/tls", { "tls.crt": "" }, ["Required data[tls.key]"]],
    ["kubernetes.io/tls", { "tls.crt": "", "tls.key": "" }, []],
    ["kubernetes.io/basic-auth", {}, ["Required data[username]", "Required data[password]"]],
    ["kubernetes.io/basic-auth", { password: "" }, []],
    ["kubernetes.io/ssh-auth", {}, ["Required data[ssh-privatekey]"]],
    ["kubernetes.io/dockerconfigjson", {}, ["Required data[.dockerconfigjson]"]],
    ["kubernetes.io/dockerconfigjson", { ".dockerconfigjson": base64("[]") }, ["Invalid data[.dockerconfigjson]"]],
    ["kubernetes.io/dockerconfigjson", { ".dockerconfigjson": base64("{") }, ["Invalid data[.dockerconfigjson]"]],
    ["kubernetes.io/dockerconfigjson", { ".dockerconfigjson": json }, []],
    ["kubernetes.io/dockercfg", { ".dockercfg": json }, []],
    ["example.com/mine", {}, []],
    ["constructor", {}, []],
  ])("of type %s with %j: %j", (type, data, expected) => {
    expect(written({ type, data })).toEqual(expected);
  });

  test("of a service account names it", () => {
    const type = "kubernetes.io/service-account-token";
    const at = "metadata.annotations[kubernetes.io/service-account.name]";
    expect(written({ type })).toEqual([`Required ${at}`]);
    const annotations = { "kubernetes.io/service-account.name": "builder" };
    expect(written({ type, metadata: { name: "x", annotations } })).toEqual([]);
  });

  test("is Opaque when it does not say, or says nothing", () => {
    expect(writeNew(secrets, object("Secret", {})).object["type"]).toBe("Opaque");
    expect(writeNew(secrets, object("Secret", { type: "" })).object["type"]).toBe("Opaque");
  });

  test("never stands in a message", () => {
    const data = { ".dockerconfigjson": base64("hunter2"), "a/b": base64("hunter3") };
    const { errors } = writeNew(secrets, object("Secret", { type: "kubernetes.io/dockerconfigjson", data }));
    expect(errors).toHaveLength(2);
    expect(errors.join()).not.toMatch(/hunter|aHVudGVy/);
  });
});

test("a lease is refused for times that cannot be, at each by its name", () => {
  const leases = served(leaseKind);
  const spec = { leaseDurationSeconds: -1, leaseTransitions: -1 };
  expect(brief(writeNew(leases, object("Lease", { apiVersion: "coordination.k8s.io/v1", spec })).errors)).toEqual([
    "Invalid spec.leaseDurationSeconds",
    "Invalid spec.leaseTransitions",
  ]);
});

test("a namespace keeps finalizers of others beside its own, and has its own once", () => {
  const namespaces = served(namespaceKind);
  const { object: created } = writeNew(
    namespaces,
    object("Namespace", { spec: { finalizers: ["a/b", "kubernetes"] } }),
  );
  expect(created).toMatchObject({ spec: { finalizers: ["a/b", "kubernetes"] }, status: { phase: "Active" } });
});
