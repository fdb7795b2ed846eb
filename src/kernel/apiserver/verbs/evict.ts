import { isJsonObject, type JsonObject, type JsonValue, objectAt, objectsAt } from "#lib/base/index.ts";
import { type Condition, withCondition } from "#kernel/kit/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Transaction } from "../store/store.ts";
import { namedKind, expectName, inNamespace } from "./admission.ts";
import type { ApiContext } from "./context.ts";
import { deleteHead } from "./delete.ts";
import { isTerminating } from "./metadata.ts";
import type { DeleteRequest } from "./options.ts";
import { checkPolicy } from "./propagation.ts";
import { keyFor } from "./storage-view.ts";

// A deletion with a permission of its own. PodDisruptionBudgets are stored but not enforced.

/** The body of `pods/eviction`; never stored. */
export const evictionType = { group: "policy", version: "v1", kind: "Eviction" } as const;

interface Target {
  readonly namespace: string;
  readonly name: string;
}

/** The DeleteOptions of an Eviction; 400 for any other body or another Pod's. */
export function evictionOptions(resource: ServedResource, target: Target, body: unknown): JsonValue | undefined {
  const served = { ...resource, type: { ...evictionType, plural: "evictions", namespaced: true } };
  // Kubernetes accepts this older version here only; the fields are the same.
  const isOlder = isJsonObject(body) && body["apiVersion"] === "policy/v1beta1";
  const sent = namedKind(isOlder ? { ...body, apiVersion: "policy/v1" } : body, served);
  return expectName(inNamespace(sent, served, target.namespace), target.name)["deleteOptions"];
}

/** Resolves when the removal or its mark is durable. The Pod's condition tells Jobs that it did not fail by itself. */
export async function evictPod(
  context: ApiContext,
  resource: ServedResource,
  target: Target,
  request: DeleteRequest,
): Promise<void> {
  checkPolicy(request);
  await context.store.write((transaction) => {
    // The precondition refers to the revision before the condition.
    deleteHead(context, transaction, resource, target, { ...request, dryRun: true });
    if (request.dryRun === true) return;
    putCondition(context, transaction, resource, target);
    const { preconditions: _checked, ...options } = request;
    deleteHead(context, transaction, resource, target, options);
  });
}

function putCondition(context: ApiContext, transaction: Transaction, resource: ServedResource, target: Target): void {
  const key = keyFor(resource, target.namespace, target.name);
  const pod = transaction.head(key)?.object();
  if (pod === undefined || isTerminating(pod)) return;
  // Stored conditions have the members that their schema demands.
  const before = objectsAt(pod, "status", "conditions") as unknown as readonly Condition[];
  const conditions = withCondition(before, disrupted, context.clock.now());
  const status: JsonObject = {
    ...objectAt(pod, "status"),
    conditions: conditions.map((condition) => ({ ...condition })),
  };
  transaction.put(key, { ...pod, status });
}

const disrupted = {
  type: "DisruptionTarget",
  status: "True",
  reason: "EvictionByEvictionAPI",
  message: "Eviction API: evicting",
} as const;
