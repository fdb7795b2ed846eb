import { defined, isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { createMergePatch } from "#lib/json/index.ts";
import { getOrUndefined } from "#kernel/kit/index.ts";
import { apiVersionOf, asJson, type ResourceType, type Stored } from "#kernel/model/index.ts";
import type { ActionScope } from "../ops/provider.ts";
import { Rollout, type RolloutSpec, type RolloutStatus } from "../schema/rollout.ts";

export type StoredRollout = Stored<Rollout>;
export const local = { cluster: "local" } as const;
export const rolloutManager = "slipway-rollout";

/** An application has one Rollout, named like it. */
export const readRollout = ({ app, client, signal }: ActionScope): Promise<StoredRollout | undefined> =>
  getOrUndefined<Rollout>(
    client,
    { type: Rollout, namespace: app.identity.namespace, name: app.identity.name },
    signal,
  );

/** Tracked like everything that the application applies; its status is kept. Rejects with the refusal. */
export async function writeRollout(scope: ActionScope, spec: RolloutSpec): Promise<StoredRollout> {
  const { name, namespace } = scope.app.identity;
  const object = { apiVersion: apiVersionOf(Rollout), kind: Rollout.kind, metadata: { name, namespace }, spec };
  const applied = await scope.delivery.applyObject(object, local);
  if (!applied.ok) throw new Error(applied.error);
  const stored = await readRollout(scope);
  if (stored === undefined) throw new Error(`Rollout "${name}" was deleted`);
  return ofGeneration(stored, applied.value);
}

/** The object as if it had the generation that was written: a later change of its spec must not count as seen. */
export const ofGeneration = (stored: StoredRollout, { metadata }: Pick<Stored, "metadata">): StoredRollout => ({
  ...stored,
  metadata: { ...stored.metadata, ...defined({ generation: metadata.generation }) },
});

export const writeRolloutStatus = (scope: ActionScope, rollout: StoredRollout, status: RolloutStatus) =>
  writeStatus(scope, Rollout, rollout, { ...status, observedGeneration: rollout.metadata.generation ?? 1 });

/** Replaces the status by a patch of the differences, so that what people write meanwhile is kept. */
export async function writeStatus(
  { records, signal }: ActionScope,
  type: ResourceType,
  object: Stored,
  status: object,
): Promise<void> {
  const before = asJson(object)["status"];
  const wanted: JsonObject = JSON.parse(JSON.stringify(status)) as JsonObject;
  const change = createMergePatch(isJsonObject(before) ? before : {}, wanted);
  if (change === undefined) return;
  const { namespace = "", name } = object.metadata;
  const patch = { type: "merge", body: { status: change } } as const;
  await records.patch({ type, namespace, name }, patch, {
    subresource: "status",
    fieldManager: rolloutManager,
    signal,
  });
}

/**
 * Why a decision about the rollout does not count, if so. Its status is the controller's: if the object is not what the
 * controller last wrote about, another client has changed it, or deleted it to get past the decision.
 */
export function foreignChange(scope: ActionScope, rollout: StoredRollout | undefined): string | undefined {
  const { revision, name } = scope.app.identity;
  const isKnown = rollout?.status?.revision === revision;
  const isGone = !isKnown && scope.referred?.kind === Rollout.kind;
  const isEdited = isKnown && rollout.metadata.generation !== rollout.status.observedGeneration;
  return isGone || isEdited ? `Rollout "${name}" was changed or deleted by another client` : undefined;
}

export const referTo = (scope: ActionScope, { apiVersion, kind, metadata }: Stored): void =>
  scope.refer?.({ apiVersion, kind, name: metadata.name, namespace: metadata.namespace ?? "" });
