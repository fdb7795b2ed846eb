import type { JsonObject } from "#lib/base/index.ts";
import { CustomResourceDefinition, Namespace } from "#kernel/model/index.ts";
import { mapMember } from "#kernel/specs/index.ts";
import { bootstrapPolicy, ownGroup } from "./authz/rbac/bootstrap.ts";
import { withSpecDefaults } from "./crds/crd-kind.ts";
import { addDefaultAccount, addObject } from "./verbs/add-object.ts";
import type { ApiContext } from "./verbs/context.ts";
import { initialNamespaces } from "./verbs/namespace-rules.ts";

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
      addObject(context, transaction, CustomResourceDefinition, mapMember(definition, "spec", withSpecDefaults));
    for (const name of initialNamespaces) {
      const metadata = { name, labels: { "kubernetes.io/metadata.name": name } };
      if (addObject(context, transaction, Namespace, { metadata })) addDefaultAccount(context, transaction, name);
    }
  });
}

/**
 * Stores the roles and bindings that every server starts with and this one has not yet, in one transaction. Before the first
 * listener is open: a server that only this process uses asks nobody for rights.
 */
export async function storeFirstRoles(context: ApiContext): Promise<void> {
  const served = context.registry().all();
  const ownKinds = served.flatMap(({ type }) => (type.group === ownGroup && type.namespaced ? [type.plural] : []));
  await context.store.write((transaction) => {
    for (const { type, object } of bootstrapPolicy([...new Set(ownKinds)]))
      addObject(context, transaction, type, object);
  });
}
