import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { apiVersionOf, collectionPath, qualifiedResource, splitApiVersion } from "./resource-type.ts";
import * as types from "./types.ts";

const { ConfigMap, CustomResourceDefinition, Job, Namespace, Pod } = types;
const builtIn = Object.values(types);

describe("versions", () => {
  test.each([
    [Pod, "v1", "pods"],
    [Job, "batch/v1", "jobs.batch"],
    [CustomResourceDefinition, "apiextensions.k8s.io/v1", "customresourcedefinitions.apiextensions.k8s.io"],
  ])("of a kind in documents and in messages", (type, apiVersion, qualified) => {
    expect(apiVersionOf(type)).toBe(apiVersion);
    expect(qualifiedResource(type)).toBe(qualified);
  });

  test("are taken apart as they were put together", () => {
    const word = fc.stringMatching(/^[a-z][a-z0-9.]{0,10}$/);
    fc.assert(
      fc.property(fc.oneof(word, fc.constant("")), word, (group, version) => {
        expect(splitApiVersion(apiVersionOf({ group, version }))).toEqual({ group, version });
      }),
    );
  });
});

describe("paths of collections", () => {
  test.each([
    [Pod, "x", "/api/v1/namespaces/x/pods"],
    [Pod, undefined, "/api/v1/pods"],
    [Pod, "", "/api/v1/pods"],
    [Job, "x", "/apis/batch/v1/namespaces/x/jobs"],
    [Job, undefined, "/apis/batch/v1/jobs"],
    [Namespace, undefined, "/api/v1/namespaces"],
    [Namespace, "x", "/api/v1/namespaces"],
    [ConfigMap, "a/b?c", "/api/v1/namespaces/a%2Fb%3Fc/configmaps"],
  ])("%o in %j: %s", (type, namespace, path) => {
    expect(collectionPath(type, namespace)).toBe(path);
  });
});

describe("the kinds that Slipway works with", () => {
  test("have paths of their own", () => {
    expect(new Set(builtIn.map((type) => collectionPath(type))).size).toBe(builtIn.length);
  });

  test("have names as Kubernetes forms them", () => {
    for (const { kind, plural } of builtIn) {
      expect(kind).toMatch(/^[A-Z][A-Za-z]+$/);
      // Policy → policies, Ingress → ingresses, Endpoints → endpoints.
      const regular = `${kind.toLowerCase().replace(/y$/, "ie").replace(/s$/, "se")}s`;
      expect(plural).toBe(kind === "Endpoints" ? "endpoints" : regular);
    }
  });

  test("are found by one short name each, but for the two forms of an Event", () => {
    const names = builtIn.flatMap((type) => ("shortNames" in type ? [...type.shortNames] : []));
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual(["ev"]);
  });
});
