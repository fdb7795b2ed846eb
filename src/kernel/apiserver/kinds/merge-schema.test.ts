import { describe, expect, test } from "vitest";
import { definitionNames } from "#kernel/specs/index.ts";
import { mergeSchemaOf } from "./merge-schema.ts";
import type { MergeSchema } from "./served-resource.ts";

/** Walks members by name, items by `*`. */
const walk = (schema: MergeSchema | undefined, path: string): MergeSchema | undefined =>
  path
    .split(".")
    .reduce<MergeSchema | undefined>((found, part) => (part === "*" ? found?.items : found?.field(part)), schema);
const pod = mergeSchemaOf(definitionNames.pod);
const job = mergeSchemaOf(definitionNames.job);

// The table of Kubernetes' API types: what `kubectl apply` relies on.
describe("lists of a pod merge", () => {
  test.each([
    ["metadata.ownerReferences", "uid"],
    ["spec.containers", "name"],
    ["spec.initContainers", "name"],
    ["spec.ephemeralContainers", "name"],
    ["spec.imagePullSecrets", "name"],
    ["spec.schedulingGates", "name"],
    ["spec.volumes", "name"],
    ["spec.hostAliases", "ip"],
    ["spec.topologySpreadConstraints", "topologyKey"],
    ["spec.containers.*.env", "name"],
    ["spec.containers.*.ports", "containerPort"],
    ["spec.containers.*.volumeMounts", "mountPath"],
    ["spec.containers.*.volumeDevices", "devicePath"],
    ["status.conditions", "type"],
    ["status.podIPs", "ip"],
  ])("%s by %s", (path, key) => {
    const schema = walk(pod, path);
    expect([schema?.mergeKey, schema?.strategies.includes("merge")]).toEqual([key, true]);
  });

  test("as a set when they are finalizers", () => {
    expect(walk(pod, "metadata.finalizers")).toMatchObject({ mergeKey: undefined, strategies: ["merge"] });
  });

  test("by key and with nothing of the old source, when they are volumes", () => {
    expect(walk(pod, "spec.volumes")?.strategies).toEqual(["merge", "retainKeys"]);
  });
});

test.each(["spec.tolerations", "spec.containers.*.command", "spec.containers.*.args", "spec.containers.*.envFrom"])(
  "the list %s is replaced",
  (path) => {
    expect(walk(pod, path)).toMatchObject({ mergeKey: undefined, strategies: [] });
  },
);

test("the pods of a job merge like pods", () => {
  expect(walk(job, "spec.template.spec.containers.*.env")).toMatchObject({ mergeKey: "name" });
  expect(walk(job, "status.conditions")).toMatchObject({ mergeKey: "type" });
});

test("every key of a map is treated alike", () => {
  expect(walk(pod, "metadata.labels.anything")).toMatchObject({ mergeKey: undefined, strategies: [] });
  expect(walk(pod, "spec.nodeSelector.constructor")).toBeDefined();
});

test.each(["nothing", "spec.nothing", "spec.nodeName.deeper", "constructor", "spec.__proto__", "spec.nodeName.*"])(
  "%s is not described",
  (path) => {
    expect(walk(pod, path)).toBeUndefined();
  },
);

test("an unknown definition describes nothing", () => {
  expect(mergeSchemaOf("nothing").field("spec")).toBeUndefined();
  expect(mergeSchemaOf("nothing").items).toBeUndefined();
});

test("what was read once is the same object the next time", () => {
  expect(walk(pod, "spec.containers.*.env")).toBe(walk(pod, "spec.containers.*.env"));
});
