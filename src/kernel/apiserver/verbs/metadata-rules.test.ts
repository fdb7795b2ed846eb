import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { ConfigMap, Namespace } from "#kernel/model/index.ts";
import { checkMetadata, checkMetadataUpdate } from "./metadata-rules.ts";

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
      { name: "a", ownerReferences: [{ apiVersion: "v1", kind: "Event", name: "e", uid: "u" }] },
      ["metadata.ownerReferences[0]"],
    ],
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
