import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { ConfigMap, Namespace } from "#kernel/model/index.ts";
import { checkMetadata, checkMetadataUpdate } from "./metadata-rules.ts";
import { generatedName, isPathSegment, labelRule, labelValueRule, qualifiedNameRule, subdomainRule } from "./names.ts";

describe("names", () => {
  test.each([
    ["a", true],
    ["a-b.c-d", true],
    ["0", true],
    ["a".repeat(253), true],
    ["a".repeat(254), false],
    ["", false],
    ["-a", false],
    ["a-", false],
    ["a..b", false],
    [".a", false],
    ["A", false],
    ["ä", false],
    ["a\n", false],
  ])("%j is a DNS name: %j", (name, valid) => {
    expect(subdomainRule(name) === undefined).toBe(valid);
  });

  test.each([
    ["a-1", true],
    ["a.b", false],
    ["a".repeat(63), true],
    ["a".repeat(64), false],
  ])("%j is a DNS label: %j", (name, valid) => {
    expect(labelRule(name) === undefined).toBe(valid);
  });

  test.each([
    ["a", true],
    ["A_b.c-d", true],
    ["example.org/a", true],
    ["a/b/c", false],
    ["/a", false],
    ["a/", false],
    ["Example.org/a", false],
    ["a b", false],
    [`${"p".repeat(254)}/a`, false],
    ["a".repeat(64), false],
  ])("%j is a qualified name: %j", (name, valid) => {
    expect(qualifiedNameRule(name) === undefined).toBe(valid);
  });

  test.each([
    ["", true],
    ["A.b_c-1", true],
    ["-a", false],
    ["a".repeat(64), false],
  ])("%j is a label value: %j", (value, valid) => {
    expect(labelValueRule(value) === undefined).toBe(valid);
  });

  test.each([
    [".", false],
    ["..", false],
    ["a/b", false],
    ["a%b", false],
    ["system:node", true],
  ])("%j is a path segment: %j", (name, valid) => {
    expect(isPathSegment(name)).toBe(valid);
  });

  test("generated ones keep 58 characters of their base and get 5 more", () => {
    let next = 0;
    const name = generatedName("x".repeat(80), () => (next++ % 27) / 27);
    expect(name).toBe(`${"x".repeat(58)}bcdfg`);
  });
});

const fieldsOf = (metadata: JsonObject, type = ConfigMap) =>
  checkMetadata({ metadata }, type).map(({ field }) => field);

describe("metadata", () => {
  test("that is right has no causes", () => {
    const metadata = {
      name: "a.b",
      labels: { "example.org/a": "b" },
      annotations: { "Example.org/A": "anything at all ☃" },
      finalizers: ["example.org/f"],
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u", controller: true }],
    };
    expect(fieldsOf(metadata)).toEqual([]);
  });

  test("a namespace is named more narrowly than other things", () => {
    expect(checkMetadata({ metadata: { name: "a.b" } }, Namespace)).toHaveLength(1);
    expect(checkMetadata({ metadata: { name: "a-b" } }, Namespace)).toHaveLength(0);
  });

  test.each<[JsonObject, string[]]>([
    [{}, ["metadata.name"]],
    [{ name: "a", labels: 7 }, ["metadata.labels"]],
    [{ name: "a", labels: { a: null } }, ["metadata.labels[a]"]],
    [{ name: "a", annotations: { "": "x" } }, ["metadata.annotations"]],
    [{ name: "a", finalizers: "x" }, ["metadata.finalizers"]],
    [{ name: "a", finalizers: ["ok", 7] }, ["metadata.finalizers[1]"]],
    [{ name: "a", ownerReferences: {} }, ["metadata.ownerReferences"]],
    [{ name: "a", ownerReferences: ["x"] }, ["metadata.ownerReferences[0]"]],
    [
      { name: "a", ownerReferences: [{ apiVersion: "v1", kind: 7, name: "" }] },
      ["metadata.ownerReferences[0].kind", "metadata.ownerReferences[0].name", "metadata.ownerReferences[0].uid"],
    ],
  ])("%j names %j", (metadata, fields) => {
    expect(fieldsOf(metadata)).toEqual(fields);
  });
});

describe("an update of metadata", () => {
  const old = { metadata: { name: "a", uid: "1", creationTimestamp: "t", finalizers: ["f"], deletionTimestamp: "d" } };

  test("may take finalizers away while the object is deleted, but not add any", () => {
    expect(checkMetadataUpdate({ metadata: { ...old.metadata, finalizers: [] } }, old)).toEqual([]);
    const added = checkMetadataUpdate({ metadata: { ...old.metadata, finalizers: ["f", "g"] } }, old);
    expect(added).toMatchObject([{ reason: "FieldValueForbidden", field: "metadata.finalizers" }]);
    const { deletionTimestamp: _deleted, ...alive } = old.metadata;
    expect(checkMetadataUpdate({ metadata: { ...alive, finalizers: ["f", "g"] } }, { metadata: alive })).toEqual([]);
  });

  test.each(["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"])(
    "cannot change %s",
    (member) => {
      const changed = { metadata: { ...old.metadata, [member]: "other" } };
      expect(checkMetadataUpdate(changed, old).map(({ field }) => field)).toEqual([`metadata.${member}`]);
    },
  );
});
