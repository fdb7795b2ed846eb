import { formatTime, type JsonObject } from "#lib/base/index.ts";
import {
  apiVersionOf,
  CustomResourceDefinition,
  Namespace,
  type ResourceType,
  ServiceAccount,
} from "#kernel/model/index.ts";
import { mapMember } from "#kernel/specs/index.ts";
import { bootstrapPolicy } from "./authz/rbac/bootstrap.ts";
import { withSpecDefaults } from "./crds/crd-kind.ts";
import type { Transaction } from "./store/store.ts";
import type { ApiContext } from "./verbs/context.ts";
import { metaText, withMetadata } from "./verbs/metadata.ts";
import { initialNamespaces } from "./verbs/namespace-rules.ts";
import { keyFor } from "./verbs/storage-view.ts";

/**
 * Stores what every server starts with and this one has not yet, in one transaction: the first namespaces with their accounts,
 * and the definitions that are part of the program. They end up as if they had been created, but nothing is checked, which is
 * four fifths of what creating costs: tests check them once and for all.
 *
 * Order matters: a definition is served in the turn in which it is published, and a namespace comes before its account. Idempotent; on
 * a server that was started before it writes nothing, so a restart costs no flush and no revision.
 */
export async function storeFirstObjects(context: ApiContext, definitions: readonly JsonObject[]): Promise<void> {
  await context.store.write((transaction) => {
    for (const definition of definitions)
      add(context, transaction, CustomResourceDefinition, mapMember(definition, "spec", withSpecDefaults));
    for (const name of initialNamespaces) {
      const metadata = { name, labels: { "kubernetes.io/metadata.name": name } };
      const isNew = add(context, transaction, Namespace, { metadata });
      if (isNew) add(context, transaction, ServiceAccount, { metadata: { name: "default", namespace: name } });
    }
  });
}

/**
 * Stores the roles and bindings that every server starts with and this one has not yet, in one transaction. Before the first
 * listener is open: a server that only this process uses asks nobody for rights.
 */
export async function storeFirstRoles(context: ApiContext): Promise<void> {
  await context.store.write((transaction) => {
    for (const { type, object } of bootstrapPolicy()) add(context, transaction, type, object);
  });
}

/**
 * False when there is an object of this name, whatever is in it: what a user has changed is not changed back. The object gets what a
 * create would give it: uid, time, generation, defaults of its kind.
 */
function add(context: ApiContext, transaction: Transaction, type: ResourceType, object: JsonObject): boolean {
  const resource = context.registry().find(type.group, type.version, type.plural);
  if (resource === undefined) throw new Error(`the built-in kind ${type.kind} is not served`);
  const key = keyFor(resource, metaText(object, "namespace"), metaText(object, "name"));
  if (transaction.head(key) !== undefined) return false;
  const { hasGeneration } = resource;
  const birth = {
    uid: context.newUid(),
    creationTimestamp: formatTime(context.clock.now()),
    ...(hasGeneration ? { generation: 1 } : {}),
  };
  const typed = { apiVersion: apiVersionOf(type), kind: type.kind, ...object };
  transaction.put(key, resource.prepareForCreate(withMetadata(typed, birth)));
  return true;
}
