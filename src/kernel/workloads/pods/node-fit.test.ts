import { expect, test } from "vitest";
import type { NodeRequirement, NodeTerm, PodSpec } from "../pod-types.ts";
import { testNode } from "../testing/index.ts";
import { fitsNode } from "./node-fit.ts";

const node = { ...testNode, labels: { zone: "a", disks: "4" } };
const fits = (spec: Partial<PodSpec>) => fitsNode({ containers: [], ...spec }, node);
const affinityOf = (...nodeSelectorTerms: readonly NodeTerm[]): Partial<PodSpec> => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});

test.each([
  [{}, true],
  [{ zone: "a" }, true],
  [{ zone: "a", disks: "5" }, false],
  [{ constructor: "x" }, false],
])("a selector %j fits: %s", (nodeSelector: Readonly<Record<string, string>>, expected) => {
  expect(fits({ nodeSelector })).toBe(expected);
});

test.each<[NodeRequirement, boolean]>([
  [{ key: "zone", operator: "In", values: ["b", "a"] }, true],
  [{ key: "rack", operator: "In", values: ["a"] }, false],
  [{ key: "zone", operator: "NotIn", values: ["a"] }, false],
  [{ key: "rack", operator: "NotIn", values: ["a"] }, true],
  [{ key: "zone", operator: "Exists" }, true],
  [{ key: "toString", operator: "Exists" }, false],
  [{ key: "rack", operator: "DoesNotExist" }, true],
  [{ key: "zone", operator: "DoesNotExist" }, false],
  [{ key: "disks", operator: "Gt", values: ["3"] }, true],
  [{ key: "disks", operator: "Gt", values: ["4"] }, false],
  [{ key: "disks", operator: "Lt", values: ["5"] }, true],
  [{ key: "zone", operator: "Lt", values: ["5"] }, false],
  [{ key: "rack", operator: "Gt", values: ["0"] }, false],
])("the demand %j is met: %s", (requirement, expected) => {
  expect(fits(affinityOf({ matchExpressions: [requirement] }))).toBe(expected);
});

test("one term must be met, and all of it; a term without demands is met by no node", () => {
  const met: NodeTerm = { matchFields: [{ key: "metadata.name", operator: "In", values: ["test-node"] }] };
  const unmet: NodeTerm = { ...met, matchExpressions: [{ key: "rack", operator: "Exists" }] };
  expect([fits(affinityOf(unmet, met)), fits(affinityOf(unmet)), fits(affinityOf({})), fits(affinityOf())]).toEqual([
    true,
    false,
    false,
    false,
  ]);
  expect(fits({ ...affinityOf(met), nodeSelector: { zone: "b" } })).toBe(false);
});
