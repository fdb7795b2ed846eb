import type { JsonObject } from "#lib/base/index.ts";
import { CustomResourceDefinition, Namespace } from "#kernel/model/index.ts";
import { mapMember } from "#kernel/specs/index.ts";
import { bootstrapPolicy, ownGroup } from "./authz/rbac/bootstrap.ts";
import { withSpecDefaults } from "./crds/crd-kind.ts";
import { addDefaultAccount, addObject } from "./verbs/add-object.ts";
import type { ApiContext } from "./verbs/context.ts";
import { initialNamespaces } from "./verbs/namespace-rules.ts";

/** Stores what is missing in one transaction without checks. Definitions come first, a namespace before its account. */
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

/** Stores the missing initial roles and bindings, before the first listener opens. */
export async function storeFirstRoles(context: ApiContext): Promise<void> {
  const served = context.registry().all();
  const ownKinds = served.flatMap(({ type }) => (type.group === ownGroup && type.namespaced ? [type.plural] : []));
  await context.store.write((transaction) => {
    for (const { type, object } of bootstrapPolicy([...new Set(ownKinds)]))
      addObject(context, transaction, type, object);
  });
}
