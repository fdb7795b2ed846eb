import { getOrUndefined, patchStatus } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { flatSteps } from "../workflow/status.ts";
import type { LivePaths } from "../delivery/keep-state.ts";
import type { TrackedObject } from "../delivery/tracker.ts";
import { type Application, Rollout } from "../kinds.ts";
import type { DecideStep, InUse, Parts, Pass } from "./parts.ts";

/** While it has one of these phases, a rollout needs the workloads of both revisions; after going back, the old. */
const open: readonly (string | undefined)[] = ["rolling", "rolled", "paused", "promoting", "rollingBack", "rolledBack"];

/** An application has one Rollout, named like it. */
const readRollout = ({ client }: Pick<Parts, "client">, { metadata: { name, namespace = "" } }: Stored<Application>) =>
  getOrUndefined<Rollout>(client, { type: Rollout, namespace, name });

/** What an unfinished rollout still needs is not garbage. */
export async function inUseOf(parts: Pick<Parts, "client">, application: Stored<Application>): Promise<InUse> {
  const rollout = await readRollout(parts, application);
  if (rollout === undefined) return {};
  const { components, newRevision, oldRevision } = rollout.spec;
  const isRolled = ({ kind, name }: TrackedObject): boolean =>
    components.some((one) => one.kind === kind && (one.newWorkload === name || one.oldWorkload === name));
  // The rollout scales them, also long after its end.
  const livePaths: LivePaths = (entry) => (isRolled(entry) ? ["spec.replicas"] : []);
  if (!open.includes(rollout.status?.phase)) return { livePaths };
  const revisionsInUse = [newRevision, ...(oldRevision === undefined ? [] : [oldRevision])];
  return { isInUse: isRolled, revisionsInUse, livePaths };
}

/** Approving or rejecting a step that waits for a Rollout is a decision about that. */
export const decideRollout =
  (pass: Pass): DecideStep =>
  async (step, isApproved) => {
    const found = flatSteps(pass.store.status.workflow).find(({ name }) => name === step);
    if (found?.resourceRef?.kind !== Rollout.kind || found.phase !== "running") return false;
    const rollout = await readRollout(pass, pass.store.application);
    if (rollout?.status?.pause !== true) return false;
    const decision = isApproved ? { approved: true, pause: false } : { approved: false };
    await patchStatus(pass.client, Rollout, rollout, { ...rollout.status, ...decision });
    return true;
  };
