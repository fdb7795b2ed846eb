import { err, type Millis, messageOf, ok, type Problem, type Result } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";
import { type Fact, isTerminal, type Plan, type RunState } from "#engine/index.ts";
import { apiVersionOf, isAlreadyExists, isForbidden, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { CompiledWorkflow } from "../compile/compiled.ts";
import { Workflow } from "../kinds.ts";
import { collectProblems, RunAction } from "#kernel/dialect/index.ts";
import { heldPlan, type Queued, queueOf, type Rival, supersededBy } from "../locks/queue.ts";
import { keyOf } from "#kernel/model/index.ts";
import type { Pass } from "./pass.ts";

/** Effect of the concurrency key on a turn; empty for a run that has begun or has no key. */
export interface Entry {
  /** The workflow's plan, or one that keeps it from starting. */
  readonly plan: Plan;
  readonly facts: readonly Fact[];
  readonly queued?: Queued;
  readonly refusal?: string;
}

/** Asks the queue whether the run may start. An error means that the key has no value. */
export function entryOf(pass: Pass, compiled: CompiledWorkflow, run: RunState): Result<Entry, readonly Problem[]> {
  const found = queueOf(pass, compiled, run);
  if (!found.ok) {
    const collected = collectProblems();
    collected.error(["spec", "concurrency", "key"], "invalid-expression", found.error);
    return err(collected.problems);
  }
  const { plan } = compiled;
  const queued = found.value;
  if (queued === undefined || queued.isHolding)
    return ok({ plan, facts: [], ...(queued === undefined ? {} : { queued }) });
  const held = { plan: heldPlan(pass.memory, plan, queued.message), queued };
  const isFull = queued.before.length >= queued.most;
  if (compiled.concurrency?.onConflict !== "CancelNew" || !isFull || isTerminal(run.phase))
    return ok({ ...held, facts: [] });
  const names = queued.before
    .map(({ name }) => name)
    .slice(0, 3)
    .join(", ");
  const refusal = `concurrency key ${JSON.stringify(queued.key)} is held by ${names} (onConflict: CancelNew)`;
  // Nothing has begun, so final steps have nothing to do.
  return ok({ ...held, refusal, facts: [{ kind: "action", action: "cancel", force: true, reason: refusal }] });
}

export const withRefusal = (run: RunState, { refusal }: Entry): RunState =>
  refusal === undefined || run.phase !== "Canceled" ? run : { ...run, message: refusal };

/**
 * Cancels the older workflows in the way of one with `onConflict: CancelRunning`, with the rights of its writer. It
 * starts when they have ended, including final steps. Returns when to look again; undefined if nothing is waited for.
 */
export async function supersedeStage(
  pass: Pass,
  { concurrency }: CompiledWorkflow,
  { queued }: Entry,
  run: RunState,
): Promise<Millis | undefined> {
  if (queued === undefined || queued.isHolding || run.startedAt !== undefined || isTerminal(run.phase))
    return undefined;
  if (concurrency?.onConflict !== "CancelRunning" || run.suspendedSince !== undefined) return queued.wake;
  for (const rival of supersededBy(queued)) {
    const { namespace } = pass.workflow.metadata;
    const other = pass.workflows.get(keyOf({ name: rival.name, ...(namespace === undefined ? {} : { namespace }) }));
    const told = `${rival.uid}/${runNumberOf(other)}`;
    if (pass.memory.superseded.has(told)) continue;
    if (other !== undefined && !(await isTold(pass, rival, other, queued.key))) return queued.wake;
    pass.memory.superseded.add(told);
  }
  return queued.wake;
}

const runNumberOf = (workflow: Workflow | undefined): number => workflow?.status?.runNumber ?? 1;

/** Creates the RunAction; false if the writer may not, which the status then shows. Idempotent within a run of both. */
async function isTold(pass: Pass, rival: Rival, other: Stored<Workflow>, key: string): Promise<boolean> {
  if (other.metadata.uid !== rival.uid || other.status?.closing === "Cancel") return true;
  const { workflow, clientFor, memory, signal } = pass;
  const { apiVersion, kind, metadata } = other;
  const { name, namespace, uid } = metadata;
  // A canceled and retried rival is in the way again, and the earlier action may still exist.
  const runs = `${runNumberOf(other)}/${runNumberOf(workflow)}`;
  const reason = `workflow "${workflow.metadata.name}" replaces it (concurrency key ${JSON.stringify(key)})`;
  // Final steps have nothing to do.
  const force = rival.isHolding ? {} : { force: true };
  const action: KubeObject = {
    apiVersion: apiVersionOf(RunAction),
    kind: RunAction.kind,
    metadata: {
      name: `superseded-${hashName([uid, workflow.metadata.uid, runs], 20)}`,
      ...(namespace === undefined ? {} : { namespace }),
      ownerReferences: [{ apiVersion, kind, name, uid }],
    },
    spec: { target: { apiVersion, kind, name, uid }, action: "cancel", reason, ...force },
  };
  try {
    await clientFor(workflow).create(RunAction, action, { signal });
    return true;
  } catch (thrown) {
    if (isAlreadyExists(thrown)) return true;
    if (!isForbidden(thrown)) throw thrown;
    memory.queueObstacle = `may not cancel workflow "${name}": ${messageOf(thrown)}`;
    return false;
  }
}
