import { controllerFor, type Informer, type Manager, type ReconcileRequest } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { Workflow } from "../kinds.ts";
import { compareClaims } from "./allot.ts";
import { type Claim, claimsOf, limitsNamedBy } from "./claims.ts";
import { ConcurrencyLimit } from "./kind.ts";
import { type LimitParts, limitReconciler } from "./reconcile.ts";

const waitingIndex = "slipway.dev/waits-for-limits";

const waitBuckets: readonly number[] = [0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 3_600, 10_800, 43_200];

/** Adds the controller of limits. One pass at a time, because several limits are given together. */
export function addLimitController(
  manager: Manager,
  limits: Informer<ConcurrencyLimit>,
  claimsIn: LimitParts["claimsIn"],
  wake: (workflow: ReconcileRequest) => void,
): void {
  const { client, clock, metrics } = manager;
  const waits = metrics
    .histogram("slipway_workflow_lock_wait_seconds", "Time from readiness to holding all limits.", waitBuckets)
    .series();
  controllerFor(manager, "concurrency-limit")
    // In case a change was missed.
    .for<ConcurrencyLimit>(ConcurrencyLimit, { resyncEvery: 600_000 })
    .watches<Workflow>(Workflow, limitRequests)
    .with({ maxConcurrent: 1 })
    .complete(
      limitReconciler({
        client,
        clock,
        limits,
        workflows: manager.mirror<Workflow>(Workflow),
        claimsIn,
        wake,
        waited: (time) => waits.observe(time / 1000),
      }),
    );
}

/** Indexes Workflows by what they wait for; returns the claims of a namespace in order. */
export function claimsIn(workflows: Informer<Workflow>): LimitParts["claimsIn"] {
  workflows.addIndex(waitingIndex, (workflow) =>
    claimsOf(workflow).length === 0 ? [] : [workflow.metadata.namespace ?? ""],
  );
  return (namespace) => sortedClaims(workflows.byIndex(waitingIndex, namespace));
}

const sortedClaims = (workflows: readonly Stored<Workflow>[]): readonly Claim[] =>
  workflows.flatMap(claimsOf).sort(compareClaims);

/** Everything a change may free or claim. */
function limitRequests(workflow: Stored<Workflow>): readonly ReconcileRequest[] {
  const { namespace } = workflow.metadata;
  return limitsNamedBy(workflow).map((name) => ({ name, ...(namespace === undefined ? {} : { namespace }) }));
}
