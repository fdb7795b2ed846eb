import { expect, test } from "vitest";
import type { Container, PodObject } from "../pod-types.ts";
import { shellPod } from "../testing/index.ts";
import type { Sources } from "./config-sources.ts";
import { maskedVariables } from "./masked-variables.ts";

const sources: Sources = new Map([
  [
    "Secret/s",
    new Map([
      ["token", Buffer.from("x")],
      ["user", Buffer.from("y")],
    ]),
  ],
  ["ConfigMap/c", new Map([["color", Buffer.from("blue")]])],
]);
const container: Container = {
  name: "main",
  envFrom: [
    { secretRef: { name: "s" }, prefix: "S_" },
    { configMapRef: { name: "c" } },
    { secretRef: { name: "none" } },
  ],
  env: [
    { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "s", key: "token" } } },
    { name: "COLOR", valueFrom: { configMapKeyRef: { name: "c", key: "color" } } },
    { name: "PLAIN", value: "z" },
  ],
};
const podWith = (annotations: Readonly<Record<string, string>>): PodObject => {
  const pod = shellPod("p", "true");
  return { ...pod, metadata: { ...pod.metadata, annotations } };
};

test.each<[string, Readonly<Record<string, string>>, string[]]>([
  ["a Pod that does not ask", {}, []],
  ["one that asks", { "slipway.dev/mask-env": "" }, ["S_token", "S_user", "PASSWORD"]],
  [
    "one that names variables besides",
    { "slipway.dev/mask-env": " PLAIN, PASSWORD,,NONE" },
    ["PLAIN", "PASSWORD", "NONE", "S_token", "S_user"],
  ],
])("of %s", (_what, annotations, expected) => {
  expect(maskedVariables(podWith(annotations), container, sources)).toEqual(expected);
});

test("a container without variables has none", () => {
  expect(maskedVariables(podWith({ "slipway.dev/mask-env": "" }), { name: "main" }, sources)).toEqual([]);
});
