import { type Clock, type Instant, isJsonObject, type JsonObject, type Millis, sleep } from "#lib/base/index.ts";
import { addFinalizer, type ApiClient, type Ref } from "#kernel/kit/index.ts";
import { apiVersionOf, isConflict, type KubeObject, type Stored } from "#kernel/model/index.ts";
import { Workflow, WorkflowV2 } from "./kinds.ts";
import { finalizer } from "./messages.ts";
import { shapeOfWorkflow } from "./shape.ts";
import type { WorkflowState } from "./state.ts";
import { decodeV1, encodeV1 } from "./status/v1.ts";
import { decodeV2, encodeV2 } from "./status/v2.ts";

/** A Workflow in the stored version, whatever its shape; only fields of both versions are typed. */
export type AnyWorkflow = KubeObject & { readonly spec?: JsonObject; readonly status?: JsonObject };

/** The kind of this shape's version, by which it must be changed: the other schema refuses it. */
export const kindOf = ({ spec }: AnyWorkflow): typeof Workflow | typeof WorkflowV2 =>
  shapeOfWorkflow(spec) === "A" ? Workflow : WorkflowV2;

/** Mirrors and the embedded server share frozen objects, so one decoding serves all. */
const decoded = new WeakMap<AnyWorkflow, WorkflowState>();

/** Decodes each version of an object at most once. An unprepared workflow has only its shape. */
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

export function statusOf(workflow: AnyWorkflow, state: WorkflowState, now: Instant): JsonObject {
  const { status = {} } = workflow;
  const told = state.shape === "A" ? encodeV1(state, status, now) : encodeV2(state, status, now);
  return isJsonObject(told) ? told : {};
}

/** Stores the status if nothing changed since the read, else rejects with a conflict. The result is durable. */
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

/** Like `storeStatus`, and adds the finalizer, because a dispatched workflow must not vanish. */
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

export const storeState = (
  client: ApiClient,
  workflow: Stored<AnyWorkflow>,
  state: WorkflowState,
  now: Instant,
  signal?: AbortSignal,
): Promise<Stored<AnyWorkflow>> => storeStatus(client, workflow, statusOf(workflow, state, now), signal);

/** Mirrors and reads use the stored version. */
export const refOf = (namespace: string, name: string): Ref => ({ type: Workflow, namespace, name });

const conflictsFor: Millis = 10_000;
const betweenConflicts: Millis = 20;

export interface Decision<T> {
  readonly state?: WorkflowState | undefined;
  readonly answer: T;
}

/** Reads, decides (pure) and stores; retries conflicts for ten seconds. Rejects with NotFound or the last conflict. */
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
