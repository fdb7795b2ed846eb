import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonEquals, type JsonObject } from "#lib/base/index.ts";
import { applyMergePatch } from "#lib/json/index.ts";
import { createRegistry } from "../crds/registry.ts";
import { applyStrategicMerge } from "./strategic-merge.ts";

const registry = createRegistry({ now: () => 0 });
const podSchema = registry.find("", "v1", "pods")?.mergeSchema;

const word = fc.constantFrom("a", "b", "c", "d");
const environment = fc.uniqueArray(fc.record({ name: word, value: fc.option(word, { nil: undefined }) }), {
  selector: ({ name }) => name,
});
const container = fc.record({ name: word, image: word, env: environment, args: fc.array(word, { maxLength: 3 }) });
const containers = fc.uniqueArray(container, { selector: ({ name }) => name, maxLength: 4 });
const pods: fc.Arbitrary<JsonObject> = fc.record({
  metadata: fc.record({ labels: fc.dictionary(word, word), finalizers: fc.uniqueArray(word) }),
  spec: fc.record({ containers, nodeName: word }),
});

const apply = (original: JsonObject, patch: JsonObject, schema = podSchema): JsonObject => {
  const result = applyStrategicMerge(original, patch, schema);
  if (!result.ok) throw new Error(`${result.error.path}: ${result.error.message}`);
  return result.value;
};

test("patching with itself changes nothing", () => {
  fc.assert(
    fc.property(pods, (pod) => {
      expect(jsonEquals(apply(pod, pod), pod)).toBe(true);
    }),
  );
});

test("patching twice is patching once", () => {
  fc.assert(
    fc.property(pods, pods, (original, patch) => {
      const once = apply(original, patch);
      expect(apply(once, patch)).toEqual(once);
    }),
  );
});

test("neither argument is changed", () => {
  fc.assert(
    fc.property(pods, pods, (original, patch) => {
      const before = JSON.stringify([original, patch]);
      apply(original, patch);
      expect(JSON.stringify([original, patch])).toBe(before);
    }),
  );
});

test("every item of either list is there once, known by its key", () => {
  const names = (pod: JsonObject) =>
    (pod as unknown as { spec: { containers: { name: string }[] } }).spec.containers.map(({ name }) => name);
  fc.assert(
    fc.property(pods, pods, (original, patch) => {
      const merged = names(apply(original, patch));
      expect(new Set(merged)).toEqual(new Set([...names(original), ...names(patch)]));
      expect(new Set(merged).size).toBe(merged.length);
    }),
  );
});

test("without a schema it is a merge patch", () => {
  fc.assert(
    fc.property(pods, pods, (original, patch) => {
      const result = applyStrategicMerge(original, patch, undefined);
      expect(result).toEqual({ ok: true, value: applyMergePatch(original, patch) });
    }),
  );
});
