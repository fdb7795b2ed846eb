import type { Clock } from "#lib/base/index.ts";
import { type ApiClient, writeOwnedConfigMap } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
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
  const map = { name: debugName(owner.metadata.name, stepId), data: { [debugKey]: text.slice(0, mostChars) } };
  await writeOwnedConfigMap(client, owner, map, { clock, signal });
}
