import type { Clock, JsonObject } from "#lib/base/index.ts";
import { type ApiClient, createOrUpdate } from "#kernel/kit/index.ts";
import { ConfigMap, controllerReference, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { App } from "../app.ts";

// What a step was executed with and what its actions returned, for people who look for a mistake.

export const debugPolicy = "debug";
export const debugKey = "debug";
export const debugName = (name: string, stepId: string): string => `debug-${name}-${stepId}`;

export const keepsDebugValues = ({ policies, identity }: App): boolean =>
  policies.some(({ type }) => type === debugPolicy) || identity.annotations["workflowrun.oam.dev/debug"] === "true";

export interface DebugParts {
  readonly client: ApiClient;
  readonly owner: Stored;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Larger values are cut. */
const mostChars = 512 * 1024;

export async function writeDebugValue(
  { client, owner, clock, signal }: DebugParts,
  stepId: string,
  text: string,
): Promise<void> {
  const { name, namespace = "default" } = owner.metadata;
  const ref = { type: ConfigMap, namespace, name: debugName(name, stepId) };
  const change = (present: Stored | undefined): KubeObject & { readonly data: JsonObject } => ({
    ...present,
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { ...present?.metadata, name: ref.name, namespace, ownerReferences: [controllerReference(owner)] },
    data: { [debugKey]: text.slice(0, mostChars) },
  });
  await createOrUpdate<KubeObject>(client, ref, change, { clock, signal });
}
