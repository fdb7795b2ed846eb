import type { CompletionRule, CompletionTest, GroupKind } from "#engine/index.ts";

// When an object is ready, as opposed to finished: a dialect may wait for either.

const is = (condition: string): CompletionTest => ({ condition, status: "True" });
const equal = (path: string, other: string): CompletionTest => ({ path: path.split("."), equals: other.split(".") });
const all = (...tests: readonly CompletionTest[]): CompletionTest => ({ all: tests });
const kinds = (group: string, ...names: readonly string[]): readonly GroupKind[] =>
  names.map((kind) => ({ group, kind }));
/** The status is about the current generation. */
const current: CompletionTest = { path: ["status", "observedGeneration"], equals: "generation" };

/** Full rollout, as `kubectl rollout status` waits for it; the status must be about the current generation. */
export const rolloutRules: readonly CompletionRule[] = [
  {
    kinds: kinds("apps", "Deployment"),
    succeeded: [
      all(
        current,
        is("Available"),
        equal("status.updatedReplicas", "spec.replicas"),
        equal("status.replicas", "spec.replicas"),
      ),
    ],
    failed: [],
  },
  {
    kinds: kinds("apps", "StatefulSet"),
    succeeded: [
      all(current, equal("status.updatedReplicas", "spec.replicas"), equal("status.readyReplicas", "spec.replicas")),
    ],
    failed: [],
  },
  {
    kinds: kinds("apps", "DaemonSet"),
    succeeded: [
      all(
        current,
        equal("status.updatedNumberScheduled", "status.desiredNumberScheduled"),
        equal("status.numberReady", "status.desiredNumberScheduled"),
      ),
    ],
    failed: [],
  },
];
/** For kinds without a rule of their own. */
export const readyRules: readonly CompletionRule[] = [{ succeeded: [is("Ready"), is("Available")], failed: [] }];
