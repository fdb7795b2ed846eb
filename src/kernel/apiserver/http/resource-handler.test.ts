import { describe, expect, test } from "vitest";
import type { ApiError } from "#kernel/model/index.ts";
import { testContext, widgetDefinition } from "../testing/index.ts";
import { identifyCall, MethodNotAllowed } from "./resource-handler.ts";
import { parseRoute } from "./route.ts";

const context = testContext();
context.define({ ...widgetDefinition, metadata: { name: "widgets.demo.example.org" } });

const identify = (method: string, target: string) => {
  const [path = "", query = ""] = target.split("?");
  const route = parseRoute(path);
  if (route === undefined) throw new Error(`${path} names no resource`);
  return identifyCall(context, route, method, new URLSearchParams(query));
};
const refusal = (method: string, target: string): ApiError => {
  try {
    identify(method, target);
  } catch (thrown) {
    return thrown as ApiError;
  }
  throw new Error(`${method} ${target} was not refused`);
};

describe("what a request is", () => {
  const pods = "/api/v1/namespaces/n/pods";
  const widgets = "/apis/demo.example.org/v1/namespaces/n/widgets";
  test.each([
    ["GET", pods, "list", "pods"],
    ["HEAD", pods, "list", "pods"],
    ["GET", "/api/v1/pods", "list", "pods"],
    ["GET", `${pods}?watch=1`, "watch", "pods"],
    ["GET", `${pods}?watch=false`, "list", "pods"],
    ["POST", pods, "create", "pods"],
    ["DELETE", pods, "deletecollection", "pods"],
    ["GET", `${pods}/p`, "get", "pods"],
    ["GET", `${pods}/p?watch=1`, "get", "pods"],
    ["HEAD", `${pods}/p`, "get", "pods"],
    ["PUT", `${pods}/p`, "update", "pods"],
    ["PATCH", `${pods}/p`, "patch", "pods"],
    ["DELETE", `${pods}/p`, "delete", "pods"],
    ["GET", `${pods}/p/log`, "get", "pods"],
    ["GET", `${pods}/p/status`, "get", "pods"],
    ["PATCH", `${pods}/p/status`, "patch", "pods"],
    ["GET", "/api/v1/namespaces/n", "get", "namespaces"],
    ["PUT", "/api/v1/namespaces/n/finalize", "update", "namespaces"],
    ["PUT", "/api/v1/namespaces/n/status", "update", "namespaces"],
    ["GET", widgets, "list", "widgets"],
    ["GET", "/apis/demo.example.org/v1beta1/widgets?watch=true", "watch", "widgets"],
    ["PUT", `${widgets}/w/status`, "update", "widgets"],
  ])("%s %s is %s of %s", (method, target, verb, plural) => {
    const call = identify(method, target);
    expect([call.verb, call.resource.type.plural]).toEqual([verb, plural]);
  });
});

describe("what is not there", () => {
  test.each([
    ["GET", "/api/v1/things"],
    ["GET", "/api/v2/pods"],
    ["GET", "/apis/batch/v1/pods"],
    ["GET", "/apis/demo.example.org/v2/widgets"],
    ["GET", "/api/v1/watch/pods"],
    // Cluster-scoped kinds are in no namespace, namespaced objects in no cluster.
    ["GET", "/apis/apiextensions.k8s.io/v1/namespaces/n/customresourcedefinitions"],
    ["GET", "/api/v1/pods/p"],
    ["GET", "/api/v1/namespaces/n/pods/p/nothing"],
    ["GET", "/api/v1/namespaces/n/configmaps/c/status"],
    ["GET", "/apis/demo.example.org/v1/namespaces/n/widgets/w/scale"],
    ["GET", "/apis/demo.example.org/v1/namespaces/n/widgets/w/exec"],
  ])("%s %s is 404", (method, target) => {
    expect(refusal(method, target)).toMatchObject({
      code: 404,
      message: "the server could not find the requested resource",
    });
  });

  test.each(["binding", "ephemeralcontainers", "proxy", "resize"])(
    "the subresource %s of Pods is told to be missing here",
    (subresource) => {
      expect(refusal("POST", `/api/v1/namespaces/n/pods/p/${subresource}`)).toMatchObject({
        code: 501,
        message: `the ${subresource} subresource of pods is not available on this server`,
      });
    },
  );
});

describe("what may not be done", () => {
  test.each([
    ["POST", "/api/v1/namespaces/n/pods/p", "GET, PUT, PATCH, DELETE"],
    ["PUT", "/api/v1/namespaces/n/pods", "GET, POST, DELETE"],
    ["POST", "/api/v1/pods", "GET"],
    ["DELETE", "/api/v1/pods?watch=1", "GET"],
    ["GET", "/api/v1/namespaces/n/pods/p/eviction", "POST"],
    ["PATCH", "/api/v1/namespaces/n/pods", "GET, POST, DELETE"],
    ["OPTIONS", "/api/v1/namespaces/n/pods", "GET, POST, DELETE"],
    ["PUT", "/api/v1/namespaces/n/pods/p/log", "GET"],
    ["DELETE", "/api/v1/namespaces/n/pods/p/status", "GET, PUT, PATCH"],
    ["GET", "/api/v1/namespaces/n/finalize", "PUT"],
    ["constructor", "/api/v1/namespaces/n/pods", "GET, POST, DELETE"],
  ])("%s %s is 405 and allows %s", (method, target, allow) => {
    const thrown = refusal(method, target);
    expect(thrown).toBeInstanceOf(MethodNotAllowed);
    expect(thrown).toMatchObject({
      code: 405,
      allow,
      message: `the server does not allow the method ${method} on the requested resource`,
    });
  });

  test("a method is allowed only where the kind has its verb", () => {
    const namespaces = context.served("namespaces");
    const thrown = refusal("DELETE", "/api/v1/namespaces");
    expect(namespaces.verbs).not.toContain("deletecollection");
    expect(thrown).toMatchObject({ code: 405, allow: "GET, POST" });
  });
});
