import { jsonEquals, type JsonObject, listAt, objectAt, textAt } from "#lib/base/index.ts";
import { CustomResourceDefinition } from "#kernel/model/index.ts";
import { definitionNames, mapMember, withAbsent, withMembers } from "#kernel/specs/index.ts";
import type { BuiltIn } from "../kinds/built-in.ts";
import type { ResourceRegistry } from "../kinds/served-resource.ts";
import { customResourceDefinitionTable } from "../tables/small-kinds.ts";
import { withCrdStatus } from "./conditions.ts";
import type { RegistryOptions } from "./registry.ts";
import { approvalRule, conversionRule, immutableRule, namesRule, storedVersionsRule, versionsRule } from "./rules.ts";

/** Keeps a definition until the objects of its kind are gone. It is put back whenever a client leaves it out, unless deletion has begun. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/**
 * CustomResourceDefinition as a built-in kind. Its status is decided in the revision of the write, so that a kind can be used at
 * once; names are judged against `registry` as it is at that moment. An update that leaves the spec alone leaves the status alone.
 * Made by the registry, which is why it is not among the other built-in kinds.
 */
export const crdKind = (registry: ResourceRegistry, { now, compileRule }: RegistryOptions): BuiltIn => ({
  type: CustomResourceDefinition,
  definition: definitionNames.customResourceDefinition,
  table: customResourceDefinitionTable,
  subresources: ["status"],
  allowsUnconditionalUpdate: false,
  hasGeneration: true,
  defaults: (crd) => mapMember(crd, "spec", withSpecDefaults),
  prepareForCreate: (crd) => withCrdStatus(withFinalizer(crd), registry, now()),
  prepareForUpdate(crd, old) {
    const isLeaving = textAt(old, "metadata", "deletionTimestamp") !== undefined;
    // The collector takes the finalizer away when the last object is gone.
    const kept = isLeaving ? crd : withFinalizer(crd);
    return jsonEquals(crd["spec"], old["spec"]) ? kept : withCrdStatus(kept, registry, now());
  },
  rules: [namesRule, versionsRule(compileRule), conversionRule, approvalRule],
  updateRules: [immutableRule, storedVersionsRule],
});

/**
 * What this server adds to the `spec` of a definition: `singular` and `listKind` from the kind, and the conversion strategy `None`.
 * The documents of real projects often carry a conversion webhook although they have a single version; those become `None`.
 */
export function withSpecDefaults(spec: JsonObject): JsonObject {
  const named = mapMember(spec, "names", (names) => {
    const kind = textAt(names, "kind");
    return kind === undefined ? names : withAbsent(names, { singular: kind.toLowerCase(), listKind: `${kind}List` });
  });
  return mapMember(withAbsent(named, { conversion: { strategy: "None" } }), "conversion", (conversion) =>
    // With a single version there is nothing to convert; a rule warns of the webhook that stays uncalled.
    conversion["strategy"] === "Webhook" && listAt(spec, "versions").length === 1
      ? { ...conversion, strategy: "None" }
      : conversion,
  );
}

/** A definition is always deleted in two steps, so that no object is left without its kind. */
function withFinalizer(crd: JsonObject): JsonObject {
  const finalizers = listAt(crd, "metadata", "finalizers");
  if (finalizers.includes(cleanupFinalizer)) return crd;
  return withMembers(crd, {
    metadata: { ...objectAt(crd, "metadata"), finalizers: [...finalizers, cleanupFinalizer] },
  });
}
