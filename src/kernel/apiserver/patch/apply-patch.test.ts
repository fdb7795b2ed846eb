import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import { kind, s, toCrd } from "#lib/schema/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import { createRegistry } from "../crds/registry.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { writeNew } from "../testing/write-steps.ts";
import { acceptedPatchTypes, patcherOf, type PatchType } from "./apply-patch.ts";

const registry = createRegistry({ now: () => 0 });
const find = (group: string, plural: string) => registry.find(group, "v1", plural) as ServedResource;
const Widget = kind({
  group: "demo.example.org",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  scope: "Namespaced",
  spec: s.object({}),
});
registry.setCrd(writeNew(find("apiextensions.k8s.io", "customresourcedefinitions"), toCrd(Widget)).object);
const configMaps = find("", "configmaps");
const widgets = find("demo.example.org", "widgets");

const object = { metadata: { name: "x", labels: { a: "1" } }, data: { k: "v" } };
const patched = (type: PatchType, body: JsonValue, resource = configMaps): JsonObject =>
  patcherOf(resource, type, body, "x", 3)(object);

/** What the patch is refused with, as `code reason: message`; fails when it is not. */
function refusal(type: PatchType, body: JsonValue, resource = configMaps): string {
  try {
    patched(type, body, resource);
  } catch (thrown) {
    if (thrown instanceof ApiError) return `${thrown.code} ${thrown.reason}: ${thrown.message}`;
    throw thrown;
  }
  throw new Error("the patch was taken");
}

describe("a patch of type", () => {
  test.each<[PatchType, JsonValue, JsonValue]>([
    ["json", [{ op: "replace", path: "/data/k", value: "w" }], { ...object, data: { k: "w" } }],
    ["merge", { data: { k: null, l: "w" } }, { ...object, data: { l: "w" } }],
    ["strategic", { data: { k: null, l: "w" } }, { ...object, data: { l: "w" } }],
    ["strategic", { data: { $patch: "replace", l: "w" } }, { ...object, data: { l: "w" } }],
    ["merge", { metadata: { labels: null } }, { metadata: { name: "x" }, data: { k: "v" } }],
  ])("%s: %j", (type, body, expected) => {
    expect(patched(type, body)).toEqual(expected);
  });

  test("merge takes a key named __proto__ for what it is", () => {
    const body = JSON.parse('{"data":{"__proto__":"p"}}') as JsonValue;
    expect(Object.keys(patched("merge", body)["data"] as JsonObject)).toEqual(["k", "__proto__"]);
    expect(Object.getPrototypeOf(patched("strategic", body)["data"])).toBe(Object.prototype);
  });

  test("leaves the object itself alone", () => {
    const before = structuredClone(object);
    patched("json", [{ op: "remove", path: "/data/k" }]);
    patched("strategic", { data: { k: "w" } });
    expect(object).toEqual(before);
  });
});

describe("refuses", () => {
  const operation = (path: string, op = "remove") => [{ op, path }];
  test.each<[string, PatchType, JsonValue, RegExp]>([
    ["a JSON patch that is no list", "json", { op: "remove" }, /^400 BadRequest: /],
    ["an unknown operation", "json", operation("/data/k", "grow"), /^400 BadRequest: /],
    ["a path without a slash", "json", operation("data"), /^4(?:00|22) /],
    ["removal of what is not there", "json", operation("/data/nothing"), /^422 Invalid: /],
    ["a test that fails", "json", [{ op: "test", path: "/data/k", value: "w" }], /^422 Invalid: /],
    ["more operations than allowed", "json", Array.from({ length: 4 }, () => operation("/data/k")[0] ?? {}), /^413 /],
    ["the object turned into a text", "json", [{ op: "replace", path: "", value: "x" }], /^400 .*not an object/],
    ["a merge patch that is a list", "merge", [], /^400 BadRequest: a merge patch must be an object/],
    ["a merge patch that is null", "merge", null, /^400 /],
    ["a strategic patch that is a text", "strategic", "x", /^400 BadRequest: a strategic patch must be an object/],
    [
      "a directive nobody knows",
      "strategic",
      { data: { $patch: "x" } },
      /^400 BadRequest: the patch cannot be applied: data\.\$patch: /,
    ],
  ])("%s", (_, type, body, expected) => {
    expect(refusal(type, body)).toMatch(expected);
  });

  test("a strategic patch of a custom kind, before any object is looked at, and says what is taken", () => {
    expect(() => patcherOf(widgets, "strategic", {}, "x", 3)).toThrow(ApiError);
    expect(refusal("strategic", {}, widgets)).toMatch(/^415 UnsupportedMediaType: .*merge-patch/);
  });

  test("a failed operation with the name of the object and the place in the patch", () => {
    const message = refusal("json", operation("/data/nothing"));
    expect(message).toContain('ConfigMap "x" is invalid: patch: ');
    expect(message).toContain("/data/nothing");
  });
});

test("what a kind accepts depends on whether it has merge keys", () => {
  const both = ["application/json-patch+json", "application/merge-patch+json"];
  expect(acceptedPatchTypes(widgets)).toEqual(expect.arrayContaining(both));
  expect(acceptedPatchTypes(widgets)).not.toContain("application/strategic-merge-patch+json");
  expect(acceptedPatchTypes(configMaps)).toEqual(
    expect.arrayContaining([...both, "application/strategic-merge-patch+json"]),
  );
});
