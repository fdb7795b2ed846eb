import { messageOf, type Result } from "#lib/base/index.ts";
import type { ChildState } from "#engine/index.ts";
import { refTo, withController } from "#kernel/kit/index.ts";
import { ApiError, asJson, type KubeObject, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { type ChildKind, failed, isChild, isIndependent, objectIn, referenceOf, refusal } from "./child.ts";
import type { StepClients } from "./child.ts";
import type { Attempt, Finding } from "./executor.ts";

// `operation: Apply`: one object under its own name, which may have been there before and stays when the workflow goes. What such an
// object says of its end may be about what it was before, so an attempt counts only what came after its own write: the status keeps the
// uid and the generation that the write answered with. Until they are stored the intent (`Starting`) owes the write, and applying the
// same once more changes nothing: that is all there is to a crash in between.

/** By this name servers keep which fields were applied by steps, of whatever workflow: what one leaves out, the next takes back. */
const fieldManager = "slipway-workflow";

/** How an object stands for an attempt. */
type StateOf = (attempt: Attempt, object: Stored) => ChildState;

/**
 * Applies the object of an attempt with the rights of the workflow's writer, and tells how it stands. Safe to repeat.
 *
 * | Answer | Finding |
 * | --- | --- |
 * | applied | as it stands, with its uid and its generation; of an item only that it is alive |
 * | 409, fields of other managers | failed `FieldManagerConflict`, in the server's words |
 * | all else | as for a creation |
 */
export async function applyObject(
  { clientFor }: StepClients,
  type: ResourceType,
  manifest: Result<KubeObject, string>,
  attempt: Attempt,
  stateOf: StateOf,
  signal: AbortSignal,
): Promise<Finding> {
  if (!manifest.ok) return failed("ExpressionError", manifest.error);
  const { step, workflow } = attempt;
  const body = isIndependent(attempt) ? manifest.value : withController(manifest.value, workflow);
  const force = step.step.force === true;
  let object: Stored;
  try {
    const patch = { type: "apply", body: asJson(body), force } as const;
    object = await clientFor(workflow).patch(refTo(type, body), patch, { fieldManager, signal });
  } catch (thrown) {
    return isFieldConflict(thrown) ? failed("FieldManagerConflict", messageOf(thrown)) : refusal(thrown);
  }
  const { generation } = object.metadata;
  const reference = { ...referenceOf(object), ...(generation === undefined ? {} : { generation }) };
  // The outcome of an item goes with those of all others through the look at them, which bounds what they give together.
  const state = attempt.item === undefined ? stateOf({ ...attempt, reference }, object) : ({ is: "alive" } as const);
  return { is: "child", state, reference };
}

/** Somebody else manages what would be changed. Every other conflict is about versions, and passes. */
const isFieldConflict = (thrown: unknown): boolean =>
  thrown instanceof ApiError && thrown.details.causes?.some(({ reason }) => reason === "FieldManagerConflict") === true;

/**
 * How an applied object stands. Undefined until it was applied; gone when it was and is not, or is another object of its name, and
 * when a cancelled attempt lets go what is not the workflow's own.
 */
export function observeApplied(kind: ChildKind, attempt: Attempt, stateOf: StateOf): Finding | undefined {
  const { phase, reference } = attempt;
  // What is there may have been there before: only applying shows that it is what was asked for.
  if (phase === "Starting") return undefined;
  const object = appliedIn(kind, attempt);
  if (object === undefined) return { is: "child", state: { is: "gone" } };
  const isBehind = (object.metadata.generation ?? 0) < (reference?.generation ?? 0);
  const state = isBehind ? ({ is: "alive" } as const) : stateOf(attempt, object);
  const isReleased = phase === "Cancelling" && state.is === "alive" && isIndependent(attempt);
  return { is: "child", state: isReleased ? { is: "gone" } : state, ...(reference === undefined ? {} : { reference }) };
}

/**
 * The object an attempt has applied, if a mirror shows it. Of items a status keeps no uids: a running one was applied, by this process,
 * whose mirrors show its own writes at once, or before they were filled.
 */
function appliedIn(kind: ChildKind, attempt: Attempt): Stored | undefined {
  const object = objectIn(kind, attempt);
  if (object === undefined) return undefined;
  if (!isIndependent(attempt)) return isChild(attempt, object) ? object : undefined;
  const { uid } = attempt.reference ?? {};
  if (uid === undefined) return attempt.phase === "Running" ? object : undefined;
  return object.metadata.uid === uid ? object : undefined;
}
