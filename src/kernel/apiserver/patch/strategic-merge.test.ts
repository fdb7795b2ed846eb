import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { createRegistry } from "../crds/registry.ts";
import { applyStrategicMerge } from "./strategic-merge.ts";

const registry = createRegistry({ now: () => 0 });
const schemaOf = (plural: string) => registry.find("", "v1", plural)?.mergeSchema;

function merged(original: object, patch: object, plural = "pods"): unknown {
  const result = applyStrategicMerge(original as JsonObject, patch as JsonObject, schemaOf(plural));
  return result.ok ? result.value : result.error;
}

const pod = (...containers: object[]) => ({ spec: { containers } });

describe("maps", () => {
  test("merge, and null removes a member", () => {
    expect(merged({ metadata: { labels: { a: "1", b: "2" } } }, { metadata: { labels: { b: null, c: "3" } } })).toEqual(
      {
        metadata: { labels: { a: "1", c: "3" } },
      },
    );
  });

  test("$patch replace takes only what the patch has", () => {
    expect(
      merged({ metadata: { labels: { a: "1" } } }, { metadata: { labels: { $patch: "replace", b: "2" } } }),
    ).toEqual({
      metadata: { labels: { b: "2" } },
    });
  });

  test("$patch delete removes the map", () => {
    expect(
      merged(
        { spec: { securityContext: { runAsUser: 1 }, x: 1 } },
        { spec: { securityContext: { $patch: "delete" } } },
      ),
    ).toEqual({
      spec: { x: 1 },
    });
  });

  test("a new map is stored without its directives and nulls", () => {
    expect(merged({}, { spec: { securityContext: { $patch: "merge", runAsUser: null, runAsGroup: 2 } } })).toEqual({
      spec: { securityContext: { runAsGroup: 2 } },
    });
  });

  test("an unknown directive is refused with its place", () => {
    expect(merged({}, { spec: { $patch: "grow" } })).toMatchObject({ path: "spec.$patch" });
  });
});

describe("lists with a merge key", () => {
  test("items of the same key merge, new ones are added, the rest stays", () => {
    expect(
      merged(pod({ name: "a", image: "1" }, { name: "b", image: "1" }), pod({ name: "b", image: "2" }, { name: "c" })),
    ).toEqual(pod({ name: "a", image: "1" }, { name: "b", image: "2" }, { name: "c" }));
  });

  test("merge goes on inside the items", () => {
    const env = (...list: object[]) => pod({ name: "a", env: list });
    expect(merged(env({ name: "X", value: "1" }, { name: "Y", value: "1" }), env({ name: "X", value: "2" }))).toEqual(
      env({ name: "X", value: "2" }, { name: "Y", value: "1" }),
    );
  });

  test("ports are known by their number, mounts by their path", () => {
    const container = (port: object, mount: object) => pod({ name: "a", ports: [port], volumeMounts: [mount] });
    expect(
      merged(
        container({ containerPort: 80, name: "http" }, { mountPath: "/a", name: "v" }),
        container({ containerPort: 80, name: "web" }, { mountPath: "/a", readOnly: true }),
      ),
    ).toEqual(container({ containerPort: 80, name: "web" }, { mountPath: "/a", name: "v", readOnly: true }));
  });

  test("$patch delete removes one item", () => {
    expect(merged(pod({ name: "a" }, { name: "b" }), pod({ name: "a", $patch: "delete" }))).toEqual(pod({ name: "b" }));
  });

  test("$patch replace among the items replaces the list", () => {
    expect(merged(pod({ name: "a" }, { name: "b" }), pod({ $patch: "replace" }, { name: "c" }))).toEqual(
      pod({ name: "c" }),
    );
  });

  test("an item without its key is refused", () => {
    expect(merged(pod({ name: "a" }), pod({ image: "x" }))).toMatchObject({ path: "spec.containers[0]" });
  });

  test.each<[string, string[], string[], string[], string[]]>([
    ["a new item before the others", ["a", "server"], ["new", "a"], ["new"], ["new", "a", "server"]],
    ["a new item after the others", ["a", "server"], ["a", "new"], ["new"], ["a", "new", "server"]],
    [
      "the items of the server before what they stood before",
      ["server", "a", "b"],
      ["b", "a"],
      [],
      ["server", "b", "a"],
    ],
    ["or after all that is named", ["a", "b", "server"], ["b", "a"], [], ["b", "a", "server"]],
    ["items of the server keep their order", ["s", "a", "t", "b", "u"], ["b", "a"], [], ["s", "t", "b", "a", "u"]],
    ["an order that names nothing", ["a", "b"], [], [], ["a", "b"]],
    ["an order of items that are not there", ["a", "b"], ["x", "y"], [], ["a", "b"]],
    ["a list that was not there", [], ["b", "a"], ["a", "b"], ["b", "a"]],
  ])("$setElementOrder: %s", (_, object, order, patched, expected) => {
    const named = (list: readonly string[]) => list.map((name) => ({ name }));
    const patch = { spec: { "$setElementOrder/containers": named(order), containers: named(patched) } };
    expect(merged(pod(...named(object)), patch)).toEqual(pod(...named(expected)));
  });

  test.each<[string[], string[], string[]]>([
    [
      ["b", "c"],
      ["c", "b"],
      ["c", "b"],
    ],
    [["b"], ["a"], ["a", "b"]],
    [
      ["a", "server", "b"],
      ["b", "a"],
      ["server", "b", "a"],
    ],
    [
      ["a", "b", "c"],
      ["new", "b"],
      ["new", "a", "b", "c"],
    ],
  ])("without $setElementOrder, %j patched with %j is in the order of the patch: %j", (before, patch, after) => {
    const named = (names: readonly string[]) => ({ spec: { containers: names.map((name) => ({ name })) } });
    expect(merged(named(before), named(patch))).toEqual(named(after));
    const finalizers = (names: readonly string[]) => ({ metadata: { finalizers: names } });
    expect(merged(finalizers(before), finalizers(patch))).toEqual(finalizers(after));
  });

  test("$setElementOrder works on lists that the patch leaves alone, and on sets", () => {
    expect(
      merged(pod({ name: "a" }, { name: "b" }), {
        spec: { "$setElementOrder/containers": [{ name: "b" }, { name: "a" }] },
      }),
    ).toEqual(pod({ name: "b" }, { name: "a" }));
    expect(
      merged(
        { metadata: { finalizers: ["a", "s"] } },
        { metadata: { "$setElementOrder/finalizers": ["n", "a"], finalizers: ["n"] } },
      ),
    ).toEqual({ metadata: { finalizers: ["n", "a", "s"] } });
  });

  test("$setElementOrder means nothing for a list that is replaced, or that is not there", () => {
    const patch = { spec: { "$setElementOrder/args": ["b"], "$setElementOrder/containers": [{ name: "a" }] } };
    expect(merged({ spec: { args: ["a"] } }, patch)).toEqual({ spec: { args: ["a"] } });
  });

  test("deletions come before everything else in the list", () => {
    const list = [
      { name: "a", image: "2" },
      { name: "a", $patch: "delete" },
    ];
    expect(merged(pod({ name: "a", image: "1", args: ["x"] }), pod(...list))).toEqual(pod({ name: "a", image: "2" }));
  });

  test("an item that replaces is no item", () => {
    expect(merged(pod({ name: "a" }), pod({ name: "b", $patch: "replace" }, { name: "c" }))).toEqual(
      pod({ name: "c" }),
    );
  });

  test("conditions of a status are known by their type", () => {
    const status = (...conditions: object[]) => ({ status: { conditions } });
    expect(
      merged(status({ type: "A", status: "False" }), status({ type: "A", status: "True" }, { type: "B" })),
    ).toEqual(status({ type: "A", status: "True" }, { type: "B" }));
  });

  test("volumes retain only the keys they are told", () => {
    const volumes = (...list: object[]) => ({ spec: { volumes: list } });
    expect(
      merged(
        volumes({ name: "v", emptyDir: {} }),
        volumes({ name: "v", configMap: { name: "c" }, $retainKeys: ["name", "configMap"] }),
      ),
    ).toEqual(volumes({ name: "v", configMap: { name: "c" } }));
  });

  test("volumes change their type as kubectl apply writes it: the old source null beside the keys that stay", () => {
    const volumes = (...list: object[]) => ({ spec: { volumes: list } });
    const change = { name: "v", emptyDir: null, configMap: { name: "c" }, $retainKeys: ["configMap", "name"] };
    expect(merged(volumes({ name: "v", emptyDir: {} }), volumes(change))).toEqual(
      volumes({ name: "v", configMap: { name: "c" } }),
    );
  });

  test.each<[string, object, string]>([
    ["an order that is no list", { spec: { "$setElementOrder/containers": {} } }, "spec.$setElementOrder/containers"],
    ["keys that are no list", { spec: { $retainKeys: "name" } }, "spec.$retainKeys"],
    [
      "deletion of what is no list",
      { spec: { "$deleteFromPrimitiveList/args": "a" } },
      "spec.$deleteFromPrimitiveList/args",
    ],
    ["an item that is no object", { spec: { containers: ["a"] } }, "spec.containers[0]"],
    [
      "an item that does something unknown",
      { spec: { containers: [{ name: "a", $patch: "grow" }] } },
      "spec.containers[0].$patch",
    ],
    ["deletion of an item without its key", { spec: { containers: [{ $patch: "delete" }] } }, "spec.containers[0]"],
    ["a key that is null", { spec: { containers: [{ name: null }] } }, "spec.containers[0]"],
  ])("%s is refused with its place", (_, patch, path) => {
    expect(merged(pod({ name: "a" }), patch)).toMatchObject({ path, message: expect.stringMatching(/./) });
  });

  test("$retainKeys must name what the patch sets", () => {
    const volumes = { spec: { volumes: [{ name: "v", emptyDir: {}, $retainKeys: ["name"] }] } };
    expect(merged({ spec: { volumes: [{ name: "v" }] } }, volumes)).toMatchObject({
      message: expect.stringContaining("emptyDir"),
    });
  });

  test("owner references are known by uid", () => {
    const owners = (...list: object[]) => ({ metadata: { ownerReferences: list } });
    expect(merged(owners({ uid: "1", name: "a" }), owners({ uid: "1", name: "b" }, { uid: "2" }))).toEqual(
      owners({ uid: "1", name: "b" }, { uid: "2" }),
    );
  });
});

describe("lists of scalars", () => {
  test("finalizers are a set", () => {
    expect(merged({ metadata: { finalizers: ["a", "b"] } }, { metadata: { finalizers: ["b", "c", "c"] } })).toEqual({
      metadata: { finalizers: ["a", "b", "c"] },
    });
  });

  test("thousands of items in another order find their places", () => {
    const names = Array.from({ length: 20_000 }, (_, n) => ({ name: `E${n}` }));
    const reversed = [...names].reverse();
    const patch = { spec: { containers: [{ name: "a", "$setElementOrder/env": reversed, env: names }] } };
    expect(merged(pod({ name: "a", env: names }), patch)).toEqual(pod({ name: "a", env: reversed }));
  });

  test("$deleteFromPrimitiveList takes values out", () => {
    expect(
      merged({ metadata: { finalizers: ["a", "b"] } }, { metadata: { "$deleteFromPrimitiveList/finalizers": ["a"] } }),
    ).toEqual({
      metadata: { finalizers: ["b"] },
    });
  });

  test("others are replaced", () => {
    expect(merged(pod({ name: "a", args: ["1", "2"] }), pod({ name: "a", args: ["3"] }))).toEqual(
      pod({ name: "a", args: ["3"] }),
    );
  });
});

describe("what stays the same", () => {
  test("neither argument is changed", () => {
    const original = pod({ name: "a" });
    const patch = pod({ name: "a", image: "x" });
    const before = JSON.stringify([original, patch]);
    merged(original, patch);
    expect(JSON.stringify([original, patch])).toBe(before);
  });

  test("an empty patch changes nothing", () => {
    const original = { ...pod({ name: "a", env: [{ name: "X" }] }), metadata: { finalizers: ["a"] } };
    expect(merged(original, {})).toEqual(original);
  });

  test("__proto__ is an ordinary key", () => {
    const patch = JSON.parse('{"data":{"__proto__":"x"}}') as object;
    expect(JSON.stringify(merged({ data: { a: "1" } }, patch, "configmaps"))).toBe(
      '{"data":{"a":"1","__proto__":"x"}}',
    );
  });
});
