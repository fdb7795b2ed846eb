import { formatTime, type JsonObject } from "#lib/base/index.ts";
import type { ApiContext } from "./verbs/context.ts";
import { definitionKey } from "./verbs/definition-rules.ts";
import { metaText, withMetadata } from "./verbs/metadata.ts";
import { withSpecDefaults } from "./crds/crd-kind.ts";
import { mapMember } from "./kinds/read.ts";

/**
 * Stores definitions that are part of the program, those that are not there yet, as creating them does; only that nothing is
 * checked: whoever ships a definition checks it where the program is built. That is four fifths of what creating one costs.
 */
export async function storeShippedDefinitions(context: ApiContext, definitions: readonly JsonObject[]): Promise<void> {
  const resource = context.registry().find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  if (resource === undefined) throw new Error("definitions of custom kinds are not served");
  await context.store.write((transaction) => {
    for (const definition of definitions) {
      const key = definitionKey(metaText(definition, "name"));
      if (transaction.head(key) !== undefined) continue;
      const birth = { uid: context.newUid(), creationTimestamp: formatTime(context.clock.now()), generation: 1 };
      const stamped = withMetadata(mapMember(definition, "spec", withSpecDefaults), birth);
      transaction.put(key, resource.prepareForCreate(stamped));
    }
  });
}
