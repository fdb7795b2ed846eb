import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asJson, controllerOf, controllerReference, keyOf, type KubeObject, splitKey, type Stored } from "./object.ts";

const owner: Stored = {
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "j", namespace: "n", uid: "u-1", resourceVersion: "7", creationTimestamp: "2026-01-01T00:00:00Z" },
};

describe("keys", () => {
  test.each<[KubeObject["metadata"], string]>([
    [{ namespace: "a", name: "b" }, "a/b"],
    [{ name: "b" }, "b"],
    [{ namespace: "", name: "b" }, "b"],
    [{ namespace: "a" }, "a/"],
    [{}, ""],
  ])("the key of %j is %j", (metadata, key) => {
    expect(keyOf(metadata)).toBe(key);
  });

  test("a key gives back what it was made of", () => {
    const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.:-]{0,20}[a-z0-9])?$/);
    fc.assert(
      fc.property(fc.option(name, { nil: undefined }), name, (namespace, text) => {
        const metadata = namespace === undefined ? { name: text } : { namespace, name: text };
        expect(splitKey(keyOf(metadata))).toEqual(metadata);
      }),
    );
  });

  test("different objects have different keys", () => {
    const name = fc.stringMatching(/^[a-z]{1,2}$/);
    const metadata = fc.record({ namespace: name, name }, { requiredKeys: ["name"] });
    fc.assert(
      fc.property(metadata, metadata, (a, b) => {
        expect(keyOf(a) === keyOf(b)).toBe(a.name === b.name && a.namespace === b.namespace);
      }),
    );
  });
});

describe("owners", () => {
  test("a controller reference names the owner by its uid and keeps a foreground deletion waiting", () => {
    expect(controllerReference(owner)).toEqual({
      apiVersion: "batch/v1",
      kind: "Job",
      name: "j",
      uid: "u-1",
      controller: true,
      blockOwnerDeletion: true,
    });
    expect(controllerReference(owner, false).blockOwnerDeletion).toBe(false);
  });

  test("the controller is found among other owners", () => {
    const { controller: _c, ...plain } = controllerReference(owner);
    const other = { ...plain, uid: "u-2" };
    const controller = { ...controllerReference(owner), uid: "u-3" };
    const owned = (...ownerReferences: (typeof plain)[]): KubeObject => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p", ownerReferences },
    });
    expect(controllerOf(owned(other, { ...other, uid: "u-4" }, controller))?.uid).toBe("u-3");
    expect(controllerOf(owned(other))).toBeUndefined();
    expect(controllerOf(owned())).toBeUndefined();
    expect(controllerOf({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" } })).toBeUndefined();
  });
});

test("an object seen as JSON is the same object", () => {
  expect(asJson(owner)).toBe(owner);
});
