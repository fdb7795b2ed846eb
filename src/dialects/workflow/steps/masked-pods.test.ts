import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { withMasks } from "./masked-pods.ts";

const variable = (name: string) => ({ name, valueFrom: { secretKeyRef: { name: "s", key: "k" } } });
const mask = (names: string) => ({ metadata: { annotations: { "slipway.dev/mask-env": names } } });

test("the Pod of a secret asks for its mask, and nobody else", () => {
  const pod = { spec: { containers: [{ name: "a" }, { name: "b", env: [{ name: "X", value: "1" }, variable("T")] }] } };
  const place = ["spec", "containers", 1, "env", 1, "valueFrom"];
  expect(withMasks(pod, [place])).toEqual({ ...pod, ...mask("T") });
  expect(withMasks(pod, [])).toBe(pod);
});

test("templates of Pods ask where they stand, once for each variable, beside what they ask for themselves", () => {
  const template: JsonObject = {
    metadata: { labels: { a: "b" }, annotations: { "slipway.dev/mask-env": "MINE, T", other: "x" } },
    spec: { initContainers: [{ name: "i", env: [variable("T")] }], containers: [{ name: "c", env: [variable("U")] }] },
  };
  const job = { kind: "Job", metadata: { name: "j" }, spec: { template } };
  const places = [
    ["spec", "template", "spec", "initContainers", 0, "env", 0, "valueFrom"],
    ["spec", "template", "spec", "containers", 0, "env", 0, "valueFrom"],
  ];
  const annotations = { "slipway.dev/mask-env": "MINE,T,U", other: "x" };
  const metadata = { labels: { a: "b" }, annotations };
  expect(withMasks(job, places)).toEqual({ ...job, spec: { template: { ...template, metadata } } });
});

test("a variable without a name is for the server to refuse", () => {
  const pod = { spec: { containers: [{ env: [{ valueFrom: {} }] }] } };
  expect(withMasks(pod, [["spec", "containers", 0, "env", 0, "valueFrom"]])).toEqual(pod);
});
