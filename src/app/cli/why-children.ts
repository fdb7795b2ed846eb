import { isTerminal } from "#engine/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { splitApiVersion } from "#kernel/model/index.ts";
import { dialectOf, readIfVisible, viewOf } from "#app/runs/index.ts";
import type { StepWhy, Why } from "./why.ts";

/** At most so many children, one request each. */
const mostChildren = 20;

/**
 * Adds the reason of a child run to the step that waits for it: the parent does not know it. Other children, and those
 * the caller may not see, stay unexplained.
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

/** Empty for a child that is not a run, has ended or has no message. */
async function explainChild(client: ApiClient, namespace: string, { child }: StepWhy): Promise<Partial<StepWhy>> {
  if (child === undefined) return {};
  const dialect = await dialectOf({ group: splitApiVersion(child.apiVersion).group, kind: child.kind });
  const type = dialect && (await client.resourceType(child.apiVersion, child.kind));
  const object = type && (await readIfVisible(client, { type, namespace, name: child.name }));
  if (dialect === undefined || object === undefined) return {};
  const { phase, reason, message } = viewOf(dialect, object);
  if (isTerminal(phase) || message === undefined) return {};
  return { ...(reason === undefined ? {} : { reason }), message };
}
