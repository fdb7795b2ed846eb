import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { definitionNames } from "#kernel/specs/index.ts";
import { fieldSetOf } from "./field-set-of.ts";
import { objectWith, printed, testType } from "./testing/world.ts";
import { builtInTypeNode } from "./type-node.ts";

const inSpec = (spec: JsonObject): readonly string[] =>
  printed(fieldSetOf(objectWith(spec), testType))
    .filter((path) => path.startsWith(".spec"))
    .map((path) => path.slice(5));

describe("what a document declares", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["a scalar", { a: "x" }, [".a"]],
    ["several, sorted", { b: "x", a: "y" }, [".a", ".b"]],
    ["null", { nullable: null }, [".nullable"]],
    ["an empty struct", { struct: {} }, [".struct"]],
    ["a struct speaks through its fields", { struct: { x: "1" } }, [".struct.x"]],
    ["a map speaks through its keys", { map: { k: "1" } }, [".map.k"]],
    ["an empty map", { map: {} }, [".map"]],
    ["a key of a map is owned with what is inside", { structs: { k: { x: "1" } } }, [".structs.k", ".structs.k.x"]],
    ["an atomic map", { atomicMap: { k: "1" } }, [".atomicMap"]],
    ["an atomic struct", { atomicStruct: { x: "1" } }, [".atomicStruct"]],
    ["an empty atomic struct", { atomicStruct: {} }, [".atomicStruct"]],
    ["an item with its key", { keyed: [{ name: "i" }] }, ['.keyed[name="i"]', '.keyed[name="i"].name']],
    [
      "items, sorted by key",
      { keyed: [{ name: "j" }, { name: "i", value: "1" }] },
      [
        '.keyed[name="i"]',
        '.keyed[name="j"]',
        '.keyed[name="i"].name',
        '.keyed[name="i"].value',
        '.keyed[name="j"].name',
      ],
    ],
    [
      "items in items",
      { keyed: [{ name: "i", inner: [{ id: 1 }] }] },
      ['.keyed[name="i"]', '.keyed[name="i"].name', '.keyed[name="i"].inner[id=1]', '.keyed[name="i"].inner[id=1].id'],
    ],
    [
      "a default that completes a key is no field",
      { ports: [{ port: 80 }] },
      ['.ports[port=80,protocol="TCP"]', '.ports[port=80,protocol="TCP"].port'],
    ],
    [
      "two items apart by one key field",
      {
        ports: [
          { port: 53, protocol: "UDP" },
          { port: 53, protocol: "TCP" },
        ],
      },
      [
        '.ports[port=53,protocol="TCP"]',
        '.ports[port=53,protocol="UDP"]',
        '.ports[port=53,protocol="TCP"].port',
        '.ports[port=53,protocol="TCP"].protocol',
        '.ports[port=53,protocol="UDP"].port',
        '.ports[port=53,protocol="UDP"].protocol',
      ],
    ],
    [
      "items of one key are one, and nothing inside",
      { keyed: [{ name: "i", value: "1" }, { name: "i" }] },
      ['.keyed[name="i"]'],
    ],
    ["an empty keyed list declares nothing", { keyed: [] }, []],
    ["an empty set declares nothing", { set: [] }, []],
    ["the values of a set", { set: ["y", "x"] }, ['.set[="x"]', '.set[="y"]']],
    ["a value twice in a set is one", { set: ["x", "x"] }, ['.set[="x"]']],
    ["a list", { list: [{ name: "i" }] }, [".list"]],
    ["an empty list", { list: [] }, [".list"]],
    ["an atomic list", { atomicList: ["x"] }, [".atomicList"]],
    ["what no schema describes: members", { any: { k: { l: 1 } } }, [".any.k", ".any.k.l"]],
    ["what no schema describes: lists are leaves", { any: { k: [{ name: "i" }] } }, [".any.k"]],
    ["what no schema describes: empty objects", { any: { k: {} } }, [".any.k"]],
    [
      "known fields among unknown ones",
      { open: { known: { x: "1" }, other: { x: "1" } } },
      [".open.other", ".open.known.x", ".open.other.x"],
    ],
    ["an int or string", { intOrString: 5 }, [".intOrString"]],
    ["an item without its key", { keyed: [{ value: "1" }] }, []],
    ["an item that is no object", { keyed: ["x"] }, []],
    ["a value of another shape than the schema's", { struct: "x", keyed: "y" }, [".keyed", ".struct"]],
    [
      "names that objects inherit",
      { map: JSON.parse('{"__proto__":"1","constructor":"2"}') as JsonObject },
      [".map.__proto__", ".map.constructor"],
    ],
  ])("%s", (_name, spec, paths) => {
    expect(inSpec(spec)).toEqual(paths);
  });

  test("metadata has the same fields in every kind; an owner reference is one field", () => {
    const metadata = {
      labels: { a: "1" },
      finalizers: ["f"],
      ownerReferences: [{ uid: "u", name: "o" }],
      managedFields: [],
    };
    expect(printed(fieldSetOf({ metadata }, testType))).toEqual([
      ".metadata.managedFields",
      '.metadata.finalizers[="f"]',
      ".metadata.labels.a",
      '.metadata.ownerReferences[uid="u"]',
    ]);
  });
});

describe("built-in kinds", () => {
  const paths = (definition: string, object: JsonObject) => printed(fieldSetOf(object, builtInTypeNode(definition)));

  test("containers by name, environment by name, ports by number and protocol", () => {
    const container = {
      name: "c",
      image: "i",
      env: [{ name: "X", value: "1" }],
      ports: [{ containerPort: 80 }],
      args: ["a"],
    };
    expect(
      JSON.stringify(fieldSetOf({ spec: { containers: [container] } }, builtInTypeNode(definitionNames.pod))),
    ).toBe(
      JSON.stringify({
        "f:spec": {
          "f:containers": {
            'k:{"name":"c"}': {
              ".": {},
              "f:args": {},
              "f:env": { 'k:{"name":"X"}': { ".": {}, "f:name": {}, "f:value": {} } },
              "f:image": {},
              "f:name": {},
              "f:ports": { 'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} } },
            },
          },
        },
      }),
    );
  });

  test("a label selector has one owner, the keys of a ConfigMap have many", () => {
    expect(paths(definitionNames.job, { spec: { selector: { matchLabels: { a: "1" } } } })).toEqual([".spec.selector"]);
    expect(paths(definitionNames.configMap, { data: { b: "1", a: "2" } })).toEqual([".data.a", ".data.b"]);
  });

  test("quantities and numbers or texts are leaves however they are written", () => {
    const resources = { limits: { cpu: 1, memory: "1Gi" } };
    expect(paths(definitionNames.pod, { spec: { containers: [{ name: "c", resources }] } })).toEqual([
      '.spec.containers[name="c"]',
      '.spec.containers[name="c"].name',
      '.spec.containers[name="c"].resources.limits.cpu',
      '.spec.containers[name="c"].resources.limits.memory',
    ]);
  });

  test("a schema in a definition of custom kinds may be as deep as it likes", () => {
    const versions = { spec: { names: { kind: "K" }, versions: [{ name: "v1", schema: {} }] } };
    expect(paths(definitionNames.customResourceDefinition, versions)).toEqual([".spec.versions", ".spec.names.kind"]);
  });

  test("opaque objects are leaves", () => {
    expect(paths("io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry", { fieldsV1: { "f:a": {} } })).toEqual([
      ".fieldsV1",
    ]);
  });
});
