import { messageOf, type Result } from "#lib/base/index.ts";
import type { ChildState } from "#engine/index.ts";
import { refTo, withController } from "#kernel/kit/index.ts";
import { ApiError, asJson, type KubeObject, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { type ChildKind, failed, isChild, isIndependent, objectIn, referenceOf, refusal } from "./child.ts";
import type { StepClients } from "./child.ts";
import type { Attempt, Finding } from "./executor.ts";

// `operation: Apply`: a named object that may exist before and outlives the workflow. Its status may be old, so only
// what follows this attempt's write counts: the status keeps the uid and generation of the write. Until they are stored
// the intent owes the write, and applying again changes nothing.

/** Field manager of all applying steps: fields that one omits, the next removes. */
const fieldManager = "slipway-workflow";

type StateOf = (attempt: Attempt, object: Stored) => ChildState;

/**
 * Applies the object with the rights of the workflow's writer. Idempotent. Finds its state with uid and generation (for
 * an item only that it is alive), `FieldManagerConflict` on a 409 about fields, and otherwise the same as for a
 * creation.
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
  // Outcomes of items are observed together, which limits their size.
  const state = attempt.item === undefined ? stateOf({ ...attempt, reference }, object) : ({ is: "alive" } as const);
  return { is: "child", state, reference };
}

/** Others manage a field. All other conflicts are about versions and pass. */
const isFieldConflict = (thrown: unknown): boolean =>
  thrown instanceof ApiError && thrown.details.causes?.some(({ reason }) => reason === "FieldManagerConflict") === true;

/** The state of an applied object. Undefined before it was applied; gone if missing or replaced. */
export function observeApplied(kind: ChildKind, attempt: Attempt, stateOf: StateOf): Finding | undefined {
  const { phase, reference } = attempt;
  // The object may have existed before.
  if (phase === "Starting") return undefined;
  const object = appliedIn(kind, attempt);
  if (object === undefined) return { is: "child", state: { is: "gone" } };
  const isBehind = (object.metadata.generation ?? 0) < (reference?.generation ?? 0);
  const state = isBehind ? ({ is: "alive" } as const) : stateOf(attempt, object);
  const isReleased = phase === "Cancelling" && state.is === "alive" && isIndependent(attempt);
  return { is: "child", state: isReleased ? { is: "gone" } : state, ...(reference === undefined ? {} : { reference }) };
}

/** The applied object, if a mirror shows it. Items have no stored uids. */
function appliedIn(kind: ChildKind, attempt: Attempt): Stored | undefined {
  const object = objectIn(kind, attempt);
  if (object === undefined) return undefined;
  if (!isIndependent(attempt)) return isChild(attempt, object) ? object : undefined;
  const { uid } = attempt.reference ?? {};
  if (uid === undefined) return attempt.phase === "Running" ? object : undefined;
  return object.metadata.uid === uid ? object : undefined;
}
