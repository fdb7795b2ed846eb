import { isTerminal, type ObjectRef } from "#engine/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isForbidden, isNotFound, splitApiVersion, type Stored } from "#kernel/model/index.ts";
import { dialectOf, viewOf } from "./runs.ts";
import type { StepWhy, Why } from "./why.ts";

/** Children that are looked at, one request each. */
const mostChildren = 20;

/**
 * Adds, for steps that wait for a run of their own, what that run says of itself: one that is invalid, or waits for its turn, stands
 * there for a reason that its parent does not know. Children beyond the first twenty, and those that the caller may not see, stay as
 * they are.
 */
export async function withChildren(client: ApiClient, namespace: string, why: Why): Promise<Why> {
  const asked = new Set(why.steps.filter(isUnexplained).slice(0, mostChildren));
  const steps = await Promise.all(
    why.steps.map(async (step) =>
      asked.has(step) ? { ...step, ...(await explainChild(client, namespace, step)) } : step,
    ),
  );
  return { ...why, steps };
}

const isUnexplained = ({ waitsFor, child, message }: StepWhy): boolean =>
  waitsFor === "child" && child !== undefined && message === undefined;

/** Reason and message of the child of a step; nothing for one that is no run, is over, or has nothing to say. */
async function explainChild(client: ApiClient, namespace: string, { child }: StepWhy): Promise<Partial<StepWhy>> {
  if (child === undefined) return {};
  const dialect = await dialectOf({ group: splitApiVersion(child.apiVersion).group, kind: child.kind });
  const object = dialect === undefined ? undefined : await read(client, namespace, child);
  if (dialect === undefined || object === undefined) return {};
  const { phase, reason, message } = viewOf(dialect, object);
  if (isTerminal(phase) || message === undefined) return {};
  return { ...(reason === undefined ? {} : { reason }), message };
}

async function read(client: ApiClient, namespace: string, child: ObjectRef): Promise<Stored | undefined> {
  const type = await client.resourceType(child.apiVersion, child.kind);
  if (type === undefined) return undefined;
  return await client.get({ type, namespace, name: child.name }).catch((thrown: unknown) => {
    if (isNotFound(thrown) || isForbidden(thrown)) return undefined;
    throw thrown;
  });
}
