import { jsonEquals, type JsonObject, listAt, objectAt, textAt } from "#lib/base/index.ts";
import { CustomResourceDefinition } from "#kernel/model/index.ts";
import { definitionNames, mapMember, withAbsent, withMembers } from "#kernel/specs/index.ts";
import type { BuiltIn } from "../kinds/built-in.ts";
import type { ResourceRegistry } from "../kinds/served-resource.ts";
import { customResourceDefinitionTable } from "../tables/small-kinds.ts";
import { withCrdStatus } from "./conditions.ts";
import type { RegistryOptions } from "./admission.ts";
import { approvalRule, conversionRule, immutableRule, namesRule, storedVersionsRule, versionsRule } from "./rules.ts";

/** Keeps a definition until its objects are gone. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/** `registry` decides the status in the revision of the write, when the spec changes. */
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
    const kept = isLeaving ? crd : withFinalizer(crd);
    return jsonEquals(crd["spec"], old["spec"]) ? kept : withCrdStatus(kept, registry, now());
  },
  rules: [namesRule, versionsRule(compileRule), conversionRule, approvalRule],
  updateRules: [immutableRule, storedVersionsRule],
});

/** Adds `singular`, `listKind` and `None`, which also replaces the unused webhook of a single version. */
export function withSpecDefaults(spec: JsonObject): JsonObject {
  const named = mapMember(spec, "names", (names) => {
    const kind = textAt(names, "kind");
    return kind === undefined ? names : withAbsent(names, { singular: kind.toLowerCase(), listKind: `${kind}List` });
  });
  return mapMember(withAbsent(named, { conversion: { strategy: "None" } }), "conversion", (conversion) =>
    // A rule warns about the webhook.
    conversion["strategy"] === "Webhook" && listAt(spec, "versions").length === 1
      ? { ...conversion, strategy: "None" }
      : conversion,
  );
}

function withFinalizer(crd: JsonObject): JsonObject {
  const finalizers = listAt(crd, "metadata", "finalizers");
  if (finalizers.includes(cleanupFinalizer)) return crd;
  return withMembers(crd, {
    metadata: { ...objectAt(crd, "metadata"), finalizers: [...finalizers, cleanupFinalizer] },
  });
}
