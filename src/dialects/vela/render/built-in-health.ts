import { type CompletionRule, type CompletionTest, completionOf, type GroupKind } from "#engine/index.ts";
import { readyRules, rolloutRules } from "#kernel/dialect/index.ts";
import { type KubeObject, splitApiVersion } from "#kernel/model/index.ts";
import { asJson } from "#kernel/model/index.ts";
import { objectsAt, textAt } from "#lib/base/index.ts";
import { nameOf } from "../labels.ts";

const condition = (name: string): CompletionTest => ({ condition: name, status: "True" });
const phase = (...oneOf: readonly string[]): CompletionTest => ({ path: ["status", "phase"], oneOf });
const kind = (group: string, name: string): readonly GroupKind[] => [{ group, kind: name }];
const current: CompletionTest = { path: ["status", "observedGeneration"], equals: "generation" };
const scaledToZero: CompletionTest = { all: [current, { path: ["spec", "replicas"], oneOf: [0] }] };

/** Kinds with a rule of their own, whose new objects are unhealthy until their status says otherwise. */
const rules: readonly CompletionRule[] = [
  { kinds: [...kind("apps", "Deployment"), ...kind("apps", "StatefulSet")], succeeded: [scaledToZero], failed: [] },
  ...rolloutRules,
  { kinds: kind("batch", "Job"), succeeded: [condition("Complete")], failed: [condition("Failed")] },
  { kinds: kind("", "Pod"), succeeded: [condition("Ready"), phase("Succeeded")], failed: [phase("Failed")] },
  { kinds: kind("", "PersistentVolumeClaim"), succeeded: [phase("Bound")], failed: [phase("Lost")] },
  {
    kinds: kind("apiextensions.k8s.io", "CustomResourceDefinition"),
    succeeded: [condition("Established")],
    failed: [],
  },
];

export interface ObjectHealth {
  readonly isHealthy: boolean;
  readonly message: string;
}

/** Health without a policy: by kind, else by a condition Ready or Available, else the object's existence. */
export function builtInHealth(object: KubeObject): ObjectHealth {
  const { group } = splitApiVersion(object.apiVersion);
  const own = rules.filter(({ kinds }) => kinds?.some((one) => one.kind === object.kind && one.group === group));
  const telling = conditions(object).filter(({ type }) => type === "Ready" || type === "Available");
  if (own.length === 0 && telling.length === 0) return { isHealthy: true, message: "" };
  const state = completionOf(object, own.length > 0 ? own : readyRules);
  if (state === "succeeded") return { isHealthy: true, message: "" };
  return { isHealthy: false, message: `${nameOf(object)} is not ready${reasonOf(object)}` };
}

const conditions = (object: KubeObject) => objectsAt(asJson(object), "status", "conditions");

/** The message of the condition that is most likely to say why. */
function reasonOf(object: KubeObject): string {
  const told = conditions(object).find(
    (one) =>
      textAt(one, "message") !== undefined &&
      (one["type"] === "Failed" ? one["status"] === "True" : one["status"] === "False"),
  );
  const message = textAt(told, "message");
  return message === undefined ? "" : `: ${message}`;
}
