import { type Clock, type Instant, isJsonObject, type JsonObject, type Millis, sleep } from "#lib/base/index.ts";
import { addFinalizer, type ApiClient, type Ref } from "#kernel/kit/index.ts";
import { apiVersionOf, isConflict, type KubeObject, type Stored } from "#kernel/model/index.ts";
import { Workflow, WorkflowV2 } from "./kinds.ts";
import { finalizer } from "./messages.ts";
import { shapeOfWorkflow } from "./shape.ts";
import type { WorkflowState } from "./state.ts";
import { decodeV1, encodeV1 } from "./status-v1.ts";
import { decodeV2, encodeV2 } from "./status-v2.ts";

/**
 * A Workflow as a mirror has it: in the version that is stored, whatever its shape. Only what both versions have in common is known
 * of it.
 */
export type AnyWorkflow = KubeObject & { readonly spec?: JsonObject; readonly status?: JsonObject };

/** The kind in whose version a document of this shape is written, and has to be changed: the other one's schema refuses it. */
export const kindOf = ({ spec }: AnyWorkflow): typeof Workflow | typeof WorkflowV2 =>
  shapeOfWorkflow(spec) === "A" ? Workflow : WorkflowV2;

/** Frozen objects never change, and mirrors and the embedded server's reads hand out the same one: whoever looks first decodes for all. */
const decoded = new WeakMap<AnyWorkflow, WorkflowState>();

/** What is known of a workflow; of one that was not prepared its shape alone. Decodes at most once for each version of an object. */
export function stateOf(workflow: AnyWorkflow): WorkflowState {
  const known = decoded.get(workflow);
  if (known !== undefined) return known;
  const state = decode(workflow);
  if (Object.isFrozen(workflow)) decoded.set(workflow, state);
  return state;
}

function decode(workflow: AnyWorkflow): WorkflowState {
  const { spec = {}, status = {} } = workflow;
  const shape = shapeOfWorkflow(spec);
  if (shape === "A") return decodeV1(status);
  const { timeout } = spec;
  return { ...decodeV2(status, typeof timeout === "number" ? timeout : 0), shape };
}

/** The status that tells this state, in the words of the workflow's shape; what it has besides is kept. */
export function statusOf(workflow: AnyWorkflow, state: WorkflowState, now: Instant): JsonObject {
  const { status = {} } = workflow;
  const told = state.shape === "A" ? encodeV1(state, status, now) : encodeV2(state, status, now);
  return isJsonObject(told) ? told : {};
}

/**
 * Stores this status, bound to the version of the object that was read: refused as a conflict when somebody has changed it
 * meanwhile. What it resolves with is durable.
 */
export function storeStatus(
  client: ApiClient,
  workflow: Stored<AnyWorkflow>,
  status: JsonObject,
  signal?: AbortSignal,
): Promise<Stored<AnyWorkflow>> {
  const kind = kindOf(workflow);
  const next: AnyWorkflow = { ...workflow, apiVersion: apiVersionOf(kind), status };
  return client.updateStatus<AnyWorkflow>(kind, next, signal === undefined ? {} : { signal });
}

/**
 * As `storeStatus`, of a workflow that is to be held from then on. Where the client can, it is one write; else the finalizer comes first: what is
 * prepared may be with an agent, and must not vanish.
 */
export async function storeHeld(
  client: ApiClient,
  workflow: Stored<AnyWorkflow>,
  status: JsonObject,
  signal?: AbortSignal,
): Promise<Stored<AnyWorkflow>> {
  const finalizers = workflow.metadata.finalizers ?? [];
  if (finalizers.includes(finalizer)) return await storeStatus(client, workflow, status, signal);
  if (client.updateWhole === undefined) {
    const held = await addFinalizer<AnyWorkflow>(client, kindOf(workflow), workflow, finalizer);
    return await storeStatus(client, held, status, signal);
  }
  const kind = kindOf(workflow);
  const metadata = { ...workflow.metadata, finalizers: [...finalizers, finalizer] };
  const next: AnyWorkflow = { ...workflow, apiVersion: apiVersionOf(kind), metadata, status };
  return await client.updateWhole<AnyWorkflow>(kind, next, signal === undefined ? {} : { signal });
}

/** As `storeStatus`, of a state. */
export const storeState = (
  client: ApiClient,
  workflow: Stored<AnyWorkflow>,
  state: WorkflowState,
  now: Instant,
  signal?: AbortSignal,
): Promise<Stored<AnyWorkflow>> => storeStatus(client, workflow, statusOf(workflow, state, now), signal);

/** Where a workflow is found; mirrors and reads use the stored version. */
export const refOf = (namespace: string, name: string): Ref => ({ type: Workflow, namespace, name });

/** Somebody else may write the same workflow at the same time, but not for ever. */
const conflictsFor: Millis = 10_000;
const betweenConflicts: Millis = 20;

/** What is decided of a workflow: a state to be stored, or none, and whatever the one who asks wants to know of it. */
export interface Decision<T> {
  readonly state?: WorkflowState | undefined;
  readonly answer: T;
}

/**
 * Reads a workflow, decides, and stores what was decided; again when somebody else has written in between, up to ten seconds.
 * `decide` must be pure. Rejects with NotFound, and with the conflict when the time is over.
 */
export async function changeWorkflow<T>(
  { client, clock }: { readonly client: ApiClient; readonly clock: Clock },
  ref: Ref,
  decide: (state: WorkflowState, workflow: Stored<AnyWorkflow>, now: Instant) => Decision<T>,
  signal?: AbortSignal,
): Promise<{ readonly answer: T; readonly workflow: Stored<AnyWorkflow> }> {
  const begun = clock.monotonic();
  for (;;) {
    const workflow = await client.get<AnyWorkflow>(ref, signal === undefined ? {} : { signal });
    const now = clock.now();
    const { state, answer } = decide(stateOf(workflow), workflow, now);
    if (state === undefined) return { answer, workflow };
    try {
      return { answer, workflow: await storeState(client, workflow, state, now, signal) };
    } catch (thrown) {
      if (!isConflict(thrown) || clock.monotonic() - begun > conflictsFor) throw thrown;
      await sleep(clock, betweenConflicts, signal);
    }
  }
}
