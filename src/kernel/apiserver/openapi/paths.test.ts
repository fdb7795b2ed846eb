import { describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { createRegistry } from "../crds/registry.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { pathsOf } from "./paths.ts";

const registry = createRegistry({ now: () => 0 });
const paths = (group: string, plural: string) => pathsOf(registry.find(group, "v1", plural) as ServedResource);
const methods = (item: JsonValue | undefined): readonly string[] =>
  isJsonObject(item) ? Object.keys(item).filter((name) => name !== "parameters") : [];
const list = (value: JsonValue | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];
function operation(item: JsonValue | undefined, method: string): JsonObject {
  const found = isJsonObject(item) ? item[method] : undefined;
  if (!isJsonObject(found)) throw new Error(`there is no ${method}`);
  return found;
}

test("a namespaced kind can be read across namespaces, and nothing else can be done there", () => {
  expect(methods(paths("", "pods")["/api/v1/pods"])).toEqual(["get"]);
  expect(Object.keys(paths("", "namespaces"))).toEqual([
    "/api/v1/namespaces",
    "/api/v1/namespaces/{name}",
    "/api/v1/namespaces/{name}/status",
    "/api/v1/namespaces/{name}/finalize",
  ]);
});

test.each<[string, string, string, string[]]>([
  ["", "pods", "/api/v1/namespaces/{namespace}/pods/{name}/log", ["get"]],
  ["", "pods", "/api/v1/namespaces/{namespace}/pods/{name}/status", ["get", "patch", "put"]],
  ["", "namespaces", "/api/v1/namespaces/{name}/finalize", ["put"]],
  ["batch", "jobs", "/apis/batch/v1/namespaces/{namespace}/jobs/{name}/status", ["get", "patch", "put"]],
])("subresources of %s/%s at %s have the operations that discovery lists: %j", (group, plural, path, expected) => {
  expect([...methods(paths(group, plural)[path])].sort()).toEqual(expected);
});

describe("every path of every kind", () => {
  const all = registry.all().flatMap((resource) => Object.entries(pathsOf(resource)));

  test("declares exactly the placeholders it has", () => {
    for (const [path, item] of all) {
      const declared = list(item["parameters"]).filter((parameter) => parameter["in"] === "path");
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect([path, new Set(declared.map(({ name }) => name))]).toEqual([path, new Set(names)]);
      expect(declared).toHaveLength(names.length);
      expect(declared.every(({ required }) => required === true)).toBe(true);
    }
  });

  test("describes each parameter, and none twice", () => {
    for (const [path, item] of all) {
      for (const method of methods(item)) {
        const parameters = list(operation(item, method)["parameters"]);
        const names = parameters.map(({ name }) => name);
        expect([path, method, new Set(names).size]).toEqual([path, method, names.length]);
        expect(parameters.every(({ description }) => typeof description === "string" && description !== "")).toBe(true);
      }
    }
  });

  test("stands for one kind only", () => {
    const seen = all.map(([path]) => path);
    expect(new Set(seen).size).toBe(seen.length);
  });
});

describe("a body", () => {
  const contentOf = (group: string, plural: string, path: string, method: string) => {
    const body = operation(paths(group, plural)[path], method)["requestBody"];
    return isJsonObject(body) && isJsonObject(body["content"]) ? body["content"] : {};
  };
  const jobs = "/apis/batch/v1/namespaces/{namespace}/jobs";

  test("of a new object is the object", () => {
    expect(contentOf("batch", "jobs", jobs, "post")).toEqual({
      "application/json": { schema: { $ref: "#/components/schemas/io.k8s.api.batch.v1.Job" } },
    });
  });

  test("of a deletion are its options", () => {
    expect(JSON.stringify(contentOf("batch", "jobs", `${jobs}/{name}`, "delete"))).toContain("DeleteOptions");
  });

  test("of a patch is of any type the kind takes", () => {
    expect(Object.keys(contentOf("batch", "jobs", `${jobs}/{name}`, "patch"))).toEqual([
      "application/apply-patch+yaml",
      "application/json-patch+json",
      "application/merge-patch+json",
      "application/strategic-merge-patch+json",
    ]);
  });

  test("is not there where nothing is sent", () => {
    expect(operation(paths("batch", "jobs")[jobs], "get")).not.toHaveProperty("requestBody");
  });
});

test("answers are the object, its list, or a status", () => {
  const answer = (path: string, method: string) =>
    JSON.stringify(operation(paths("", "pods")[path], method)["responses"]).replace(/.*schemas\/([\w.-]+)".*/, "$1");
  const collection = "/api/v1/namespaces/{namespace}/pods";
  expect(answer(collection, "get")).toBe("io.k8s.api.core.v1.PodList");
  expect(answer(collection, "post")).toBe("io.k8s.api.core.v1.Pod");
  expect(answer(`${collection}/{name}`, "patch")).toBe("io.k8s.api.core.v1.Pod");
  expect(answer(collection, "delete")).toBe("io.k8s.apimachinery.pkg.apis.meta.v1.Status");
});
