import { err, isJsonObject, type JsonObject, ok, type Result, messageOf } from "#lib/base/index.ts";
import type { ChildState } from "#engine/index.ts";
import { asJson, type KubeObject, type ResourceType, type Stored, ApiError } from "#kernel/model/index.ts";
import { childName } from "../child-names.ts";
import { isApplied } from "../compile/step-source.ts";
import { render } from "../compile/values.ts";
import {
  type ChildKind,
  childOf,
  createChild,
  deleteChild,
  isIndependent,
  keyIn,
  labelsOf,
  observeChild,
  type StepClients,
  failed,
  isChild,
  objectIn,
  referenceOf,
  refusal,
} from "./child.ts";
import type { Attempt, Finding, StepExecutor } from "./executor.ts";
import { withMasks } from "./masked-pods.ts";
import { objectState } from "./object-state.ts";
import { statusOutputs, succeeded } from "./outputs.ts";
import { mayTryAgain } from "./retry-when.ts";
import { refTo, withController } from "#kernel/kit/index.ts";

/** A filled mirror, or why there is none. Filling triggers a pass. */
export type Mirror = ChildKind | "unknown" | "syncing" | { readonly forbidden: string };

/** The step could not be observed. Rights may change. */
export const unwatched = (mirror: Mirror): Finding | undefined =>
  typeof mirror === "object" && "forbidden" in mirror
    ? { is: "refused", reason: "Forbidden", message: mirror.forbidden }
    : undefined;

export const filled = (mirror: Mirror): ChildKind | undefined =>
  typeof mirror === "object" && "children" in mirror ? mirror : undefined;

/** Triggers a pass when the object with this key changes. */
export type Refer = (attempt: Attempt, mirror: ChildKind, key: string) => void;

export type FindMirror = (apiVersion: string, kind: string, attempt: Attempt) => Promise<Mirror>;

/**
 * Executes `template` steps: creates or applies any resource in the workflow's namespace, under its own name or one of
 * the attempt. The kind is literal. `refer` watches applied objects, which do not name the workflow.
 */
export function templateExecutor(clients: StepClients, find: FindMirror, refer: Refer): StepExecutor {
  const mirrorOf = (attempt: Attempt): Promise<Mirror> => {
    const { apiVersion, kind } = attempt.step.step.template ?? {};
    return find(textOf(apiVersion), textOf(kind), attempt);
  };
  return {
    reference(attempt) {
      const manifest = renderTemplate(attempt);
      if (!manifest.ok) return undefined;
      const { apiVersion, kind, metadata } = manifest.value;
      return { apiVersion, kind, name: metadata.name ?? "" };
    },
    async start(attempt, signal) {
      const mirror = await mirrorOf(attempt);
      if (mirror === "unknown") return kindNotFound(attempt);
      const kind = filled(mirror);
      // The child could not be observed without its mirror; its filling triggers a pass.
      if (kind === undefined) return unwatched(mirror);
      const manifest = placed(renderTemplate(attempt), kind.type);
      if (isApplied(attempt.step.step))
        return await applyObject(clients, kind.type, manifest, attempt, stateOf, signal);
      return await createChild(clients, kind.type, manifest, attempt, signal);
    },
    async observe(attempt, signal) {
      const mirror = filled(await mirrorOf(attempt));
      if (mirror === undefined) return undefined;
      if (!isApplied(attempt.step.step))
        return await observeChild(clients.client, mirror, attempt, signal, (object) =>
          Promise.resolve(stateOf(attempt, object)),
        );
      // Watched before the look, so that no change is missed.
      refer(attempt, mirror, keyIn(mirror.type, attempt));
      return observeApplied(mirror, attempt, stateOf);
    },
    async cancel(attempt, graceMs, signal) {
      const mirror = filled(await mirrorOf(attempt));
      if (mirror === undefined) return;
      await deleteChild(clients.client, mirror, attempt, graceMs, signal);
    },
  };
}

/** Cluster-scoped kinds have no namespace. */
function placed(manifest: Result<KubeObject, string>, { namespaced }: ResourceType): Result<KubeObject, string> {
  if (!manifest.ok || namespaced) return manifest;
  const { namespace: _nowhere, ...metadata } = manifest.value.metadata;
  return ok({ ...manifest.value, metadata });
}

/** Its schema is that of its kind. */
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** The definition may be installed later. */
export function kindNotFound({ step }: Attempt): Finding {
  const { apiVersion, kind } = step.step.template ?? step.step.externalRef ?? {};
  const message = `the server does not serve ${textOf(kind)} in ${textOf(apiVersion)}`;
  return { is: "refused", reason: "KindNotFound", message };
}

export function renderTemplate(attempt: Attempt): Result<KubeObject, string> {
  const { step, workflow, compiled, values } = attempt;
  if (step.body === undefined) return err("the step has no template");
  const rendered = render(step.body, compiled, values);
  if (!rendered.ok) return rendered;
  if (!isJsonObject(rendered.value)) return err("expected an object");
  const object = withMasks(rendered.value, step.body.secrets);
  const { apiVersion, kind } = object;
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  const given = isJsonObject(metadata["labels"]) ? metadata["labels"] : {};
  const { namespace } = workflow.metadata;
  const name = textOf(metadata["name"]) || (isApplied(step.step) ? "" : childName(childOf(attempt)));
  if (name === "") return err("metadata.name is empty; operation Apply requires a name");
  // A shared object gets no labels of the run.
  const ours = isApplied(step.step) && isIndependent(attempt) ? {} : labelsOf(attempt);
  const labels = { ...textLabels(given), ...ours };
  return ok({
    ...object,
    apiVersion: textOf(apiVersion),
    kind: textOf(kind),
    metadata: {
      ...metadata,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
    },
  });
}

/** An expression may return a number. */
const textLabels = (labels: JsonObject): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, textOf(value) || JSON.stringify(value)]));

export function stateOf(attempt: Attempt, object: Stored): ChildState {
  const state = objectState(attempt, object);
  if (state.is === "running") return { is: "alive" };
  const json = asJson(object);
  if (state.is === "succeeded") return succeeded(attempt, { result: statusOutputs(json), object: json });
  const { reason, message } = state;
  const retryable = mayTryAgain(attempt, { reason, message, exitCode: null, outputs: statusOutputs(json) });
  return { is: "failed", reason, message, retryable };
}

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
async function applyObject(
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
function observeApplied(kind: ChildKind, attempt: Attempt, stateOf: StateOf): Finding | undefined {
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
