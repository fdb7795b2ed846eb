import type { Stored } from "#kernel/model/index.ts";
import type { ActionResult, ActionScope, Provider } from "../ops/provider.ts";
import { fail, failure, wait } from "../ops/form.ts";
import { durationOf, inputOf, returning } from "../ops/use-case-value.ts";
import type { RolledComponent, RolloutPhase } from "../schema/rollout.ts";
import { lookAt, scale } from "./replicas.ts";
import { promotionOf } from "./state.ts";
import {
  foreignChange,
  local,
  ofGeneration,
  readRollout,
  referTo,
  type StoredRollout,
  writeRolloutStatus,
} from "./store.ts";
import { shareTraffic } from "./traffic.ts";
import { readinessOf } from "./workloads.ts";

const day = 24 * 60 * 60 * 1000;

/** `rollout/promote`: waits for a decision, then gives everything to one of the two revisions. */
export const promote: Provider = async (value, scope) => {
  const input = inputOf(value);
  const approvalTimeout = durationOf(input["approvalTimeout"], day);
  if (approvalTimeout === undefined)
    return failure(
      `approvalTimeout: expected a duration such as 24h, found ${JSON.stringify(input["approvalTimeout"])}`,
    );
  const rollout = await readRollout(scope);
  const { revision } = scope.app.identity;
  const foreign = foreignChange(scope, rollout);
  if (foreign !== undefined) return fail(foreign);
  const rolled = rollout?.spec.components.filter(({ oldWorkload }) => oldWorkload !== undefined) ?? [];
  if (rollout === undefined || rolled.length === 0 || rollout.spec.newRevision !== revision) {
    scope.say("there is no old revision to replace");
    return returning({});
  }
  referTo(scope, rollout);
  const settings = {
    manualApproval: input["manualApproval"] === true,
    rollbackIfNotApproved: input["rollbackIfNotApproved"] === true,
    approvalTimeout,
  };
  const { next, status } = promotionOf(rollout.status, revision, settings, scope.clock.now());
  // The decision is durable before anything follows from it.
  if (status !== rollout.status) await writeRolloutStatus(scope, rollout, status);
  switch (next) {
    case "wait":
      return wait(status.message ?? `waiting for approval of ${revision}`);
    case "promoted":
      return returning({ rollout: { name: rollout.metadata.name, phase: "succeeded" } });
    case "rolledBack":
      return fail(status.message ?? rolledBack(rollout));
    case "promote":
      return finish(rollout, rolled, scope, { isPromotion: true, phase: "succeeded", message: `promoted ${revision}` });
    case "rollBack":
      return finish(rollout, rolled, scope, { isPromotion: false, phase: "rolledBack", message: rolledBack(rollout) });
  }
};

const rolledBack = ({ spec }: StoredRollout): string => `rolled back to ${spec.oldRevision ?? "the old workload"}`;

interface Ending {
  readonly isPromotion: boolean;
  readonly phase: RolloutPhase;
  readonly message: string;
}

/** All replicas of the winner are ready before requests go to it alone, and only then the other one is removed. */
async function finish(
  rollout: StoredRollout,
  rolled: readonly RolledComponent[],
  scope: ActionScope,
  { isPromotion, phase, message }: Ending,
): Promise<ActionResult> {
  const losers: Stored[] = [];
  const pending: string[] = [];
  for (const component of rolled) {
    const { type, fresh, old } = await lookAt(scope, component);
    const [winner, loser] = isPromotion ? [fresh, old] : [old, fresh];
    if (winner === undefined) {
      const name = isPromotion ? component.newWorkload : component.oldWorkload;
      return failure(`${component.kind} "${name ?? ""}" of component ${component.name} does not exist`);
    }
    const { ready, isSettled } = readinessOf(await scale(scope, type, winner, component.replicas));
    if (!isSettled)
      pending.push(
        `${component.name}: ${ready} of ${component.replicas} replicas of ${winner.metadata.name} are ready`,
      );
    if (loser !== undefined) losers.push(loser);
  }
  if (pending.length > 0) return wait(pending.join("; "));
  // Until the loser's Pods are gone, none of the requests go to them.
  if (losers.length > 0) await shareTraffic(scope, rollout.spec, isPromotion ? 100 : 0);
  for (const loser of losers) {
    const removed = await scope.delivery.remove(loser, local);
    if (!removed.ok) return failure(removed.error);
  }
  if (losers.length > 0) return wait(`${losers.map(({ metadata }) => metadata.name).join(", ")}: removing`);
  await shareTraffic(scope, rollout.spec, undefined);
  const stored = await readRollout(scope);
  if (stored !== undefined)
    await writeRolloutStatus(scope, ofGeneration(stored, rollout), { ...stored.status, phase, message });
  return isPromotion ? returning({ rollout: { name: rollout.metadata.name, phase } }) : fail(message);
}
