import { expect, test } from "vitest";
import { UsageError } from "#kernel/command/index.ts";
import { clusterOf } from "./step-cluster.ts";

test("options for Pods alone win over those that every command has", () => {
  const everywhere = { kubeconfig: "/a", context: "a", namespace: "a" };
  expect(clusterOf(everywhere)).toEqual({ ...everywhere, as: undefined });
  expect(clusterOf({ ...everywhere, k8sKubeconfig: "/b", k8sContext: "b", k8sNamespace: "c" })).toEqual({
    kubeconfig: "/b",
    context: "b",
    namespace: "c",
    as: undefined,
  });
});

test("somebody else has a uid and groups where they were told", () => {
  expect(clusterOf({ k8sAs: "jane" }).as).toEqual({ user: "jane" });
  expect(clusterOf({ k8sAs: "jane", k8sAsUid: "7", k8sAsGroup: ["one", "two"] }).as).toEqual({
    user: "jane",
    uid: "7",
    groups: ["one", "two"],
  });
});

test.each([{ k8sAsUid: "7" }, { k8sAsGroup: ["one"] }])("%j of nobody is refused", (options) => {
  expect(() => clusterOf(options)).toThrow(UsageError);
});
