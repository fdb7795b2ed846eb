import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

export interface Findings {
  /** Objects left, by `<plural>.<group>`. */
  readonly objects: ReadonlyMap<string, number>;
  /** Waiting objects by finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Errors by kind. */
  readonly failures: readonly string[];
}

interface Verdict {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/** Kubernetes' conditions, in which True means trouble. An unchanged state keeps its times and is not written. */
export function withConditions(namespace: JsonObject, found: Findings, time: string): JsonObject {
  const status = isJsonObject(namespace["status"]) ? namespace["status"] : {};
  const before: readonly JsonValue[] = Array.isArray(status["conditions"]) ? status["conditions"] : [];
  const known = before.filter(isJsonObject);
  const verdicts = verdictsOf(found);
  const others = known.filter(({ type }) => verdicts.every((verdict) => verdict.type !== type));
  const conditions = verdicts.map((verdict) => {
    const old = known.find(({ type }) => type === verdict.type);
    const since = old?.["status"] === verdict.status ? old["lastTransitionTime"] : undefined;
    return { ...verdict, lastTransitionTime: since ?? time };
  });
  return { ...namespace, status: { ...status, conditions: [...conditions, ...others] } };
}

function verdictsOf({ objects, finalizers, failures }: Findings): readonly Verdict[] {
  const good = (type: string, reason: string, message: string): Verdict => ({ type, status: "False", reason, message });
  const bad = (type: string, reason: string, message: string): Verdict => ({ type, status: "True", reason, message });
  const counted = (counts: ReadonlyMap<string, number>, verb: string) =>
    [...counts].map(([name, count]) => `${name} ${verb} ${count} resource instances`).sort();
  return [
    // The kinds are always known here.
    good("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    good(
      "NamespaceDeletionGroupVersionParsingFailure",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ),
    failures.length === 0
      ? good(
          "NamespaceDeletionContentFailure",
          "ContentDeleted",
          "All content successfully deleted, may be waiting on finalization",
        )
      : bad(
          "NamespaceDeletionContentFailure",
          "ContentDeletionFailed",
          `Failed to delete all resource types, ${failures.length} remaining: ${failures.join(", ")}`,
        ),
    objects.size === 0
      ? good("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed")
      : bad(
          "NamespaceContentRemaining",
          "SomeResourcesRemain",
          `Some resources are remaining: ${counted(objects, "has").join(", ")}`,
        ),
    finalizers.size === 0
      ? good("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished")
      : bad(
          "NamespaceFinalizersRemaining",
          "SomeFinalizersRemain",
          `Some content in the namespace has finalizers remaining: ${counted(finalizers, "in").join(", ")}`,
        ),
  ];
}
