import { describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { definitionNames, rawDefinitions, refOf } from "#kernel/specs/index.ts";
import { builtInKinds } from "./built-in-kinds.ts";
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

/** Every member below a definition that says how a patch treats it, by its path; each definition is gone into once. */
function* patchMembers(
  raw: JsonValue | undefined,
  path: readonly string[],
  met: Set<string>,
): Generator<{ readonly path: readonly string[]; readonly raw: JsonObject }> {
  if (!isJsonObject(raw)) return;
  if (raw["x-kubernetes-patch-strategy"] !== undefined) yield { path, raw };
  const ref = refOf(raw);
  if (ref !== undefined) {
    if (met.has(ref)) return;
    met.add(ref);
    yield* patchMembers(rawDefinitions()[ref], path, met);
  }
  yield* patchMembers(raw["items"], [...path, "*"], met);
  const { properties } = raw;
  for (const [name, member] of Object.entries(isJsonObject(properties) ? properties : {}))
    yield* patchMembers(member, [...path, name], met);
}

test("every list of every kind merges as its definition says", () => {
  const met = new Set<string>();
  const seen = builtInKinds.flatMap(({ definition }) => {
    const schema = mergeSchemaOf(definition);
    const ref = { $ref: `#/components/schemas/${definition}` };
    return [...patchMembers(ref, [], met)].map(({ path, raw }) => {
      const found = walk(schema, path.join("."));
      expect({ path, key: found?.mergeKey, strategies: found?.strategies.join(",") }).toEqual({
        path,
        key: raw["x-kubernetes-patch-merge-key"],
        strategies: raw["x-kubernetes-patch-strategy"],
      });
      return `${path.at(-1)}:${String(found?.mergeKey ?? found?.strategies.join())}`;
    });
  });
  const named =
    "ownerReferences:uid finalizers:merge containers:name initContainers:name ephemeralContainers:name imagePullSecrets:name schedulingGates:name volumes:name resourceClaims:name hostAliases:ip topologySpreadConstraints:topologyKey env:name ports:containerPort ports:port volumeMounts:mountPath volumeDevices:devicePath conditions:type podIPs:ip hostIPs:ip resourceClaimStatuses:name strategy:retainKeys secrets:name";
  expect(named.split(" ").filter((text) => !seen.includes(text))).toEqual([]);
});
