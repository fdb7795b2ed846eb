import { describe, expect, test } from "vitest";
import { parseRoute, type ResourceRoute } from "./route.ts";

const route = (parts: Partial<ResourceRoute>): ResourceRoute => ({
  group: "",
  version: "v1",
  namespace: "",
  plural: "",
  name: "",
  subresource: "",
  ...parts,
});

describe("paths of the resource API", () => {
  test.each<[string, ResourceRoute]>([
    ["/api/v1/pods", route({ plural: "pods" })],
    ["/api/v1/pods/", route({ plural: "pods" })],
    ["/api/v1/namespaces", route({ plural: "namespaces" })],
    ["/api/v1/namespaces/a", route({ plural: "namespaces", name: "a" })],
    ["/api/v1/namespaces/a/status", route({ plural: "namespaces", name: "a", subresource: "status" })],
    ["/api/v1/namespaces/a/finalize", route({ plural: "namespaces", name: "a", subresource: "finalize" })],
    ["/api/v1/namespaces/a/pods", route({ namespace: "a", plural: "pods" })],
    ["/api/v1/namespaces/a/pods/p/log", route({ namespace: "a", plural: "pods", name: "p", subresource: "log" })],
    ["/apis/batch/v1/jobs", route({ group: "batch", plural: "jobs" })],
    ["/apis/batch/v1/namespaces/a/jobs/j", route({ group: "batch", namespace: "a", plural: "jobs", name: "j" })],
    ["/api/v1/namespaces/a/configmaps/a%2Eb", route({ namespace: "a", plural: "configmaps", name: "a.b" })],
  ])("%s", (path, expected) => {
    expect(parseRoute(path)).toEqual(expected);
  });

  test.each(["/", "/api", "/api/v1", "/apis", "/apis/batch", "/apis/batch/v1", "/version", "/openapi/v3/api/v1"])(
    "%s names no resource",
    (path) => {
      expect(parseRoute(path)).toBeUndefined();
    },
  );

  test.each([
    "/api/v1/namespaces/a/pods/..",
    "/api/v1/namespaces/%2e%2e/pods",
    "/api/v1/namespaces/a/pods/a%2fb",
    "/api/v1/namespaces//pods",
    "/api/v1/namespaces/a/pods/%zz",
    "/api/v1/namespaces/a/pods/a%00b",
    "/api/v1/namespaces/a/pods/a%2525",
  ])("%s is refused", (path) => {
    expect(() => parseRoute(path)).toThrow(/no name of anything|percent-encoded/);
  });

  test("a path with too many parts is not found", () => {
    expect(() => parseRoute("/api/v1/namespaces/a/pods/b/log/c")).toThrow(/could not find/);
  });
});
