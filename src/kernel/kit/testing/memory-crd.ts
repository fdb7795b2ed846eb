import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { CustomResourceDefinition, invalid, type ResourceType, type Stored } from "#kernel/model/index.ts";

/** The served versions of the kind a CustomResourceDefinition declares. */
export function declaredTypes(crd: Stored): readonly ResourceType[] {
  const spec = isJsonObject(crd.spec) ? crd.spec : {};
  const names = objectAt(spec, "names");
  const versions: readonly JsonValue[] = Array.isArray(spec["versions"]) ? spec["versions"] : [];
  const types = versions.filter(isJsonObject).flatMap((version): ResourceType[] => {
    if (version["served"] !== true) return [];
    return [
      {
        group: textAt(spec, "group"),
        version: textAt(version, "name"),
        kind: textAt(names, "kind"),
        plural: textAt(names, "plural"),
        namespaced: spec["scope"] === "Namespaced",
      },
    ];
  });
  if (types.some((type) => type.group === "" || type.version === "" || type.kind === "" || type.plural === ""))
    throw invalid(CustomResourceDefinition, crd.metadata.name, [{ field: "spec", message: "is incomplete" }]);
  return types;
}

/** The definition with the status of one whose kind is served. */
export function established(crd: Stored): Stored {
  const conditions = [
    { type: "NamesAccepted", status: "True" },
    { type: "Established", status: "True" },
  ];
  return { ...crd, status: { conditions } };
}

const objectAt = (object: JsonObject, key: string): JsonObject => {
  const value = object[key];
  return isJsonObject(value) ? value : {};
};

const textAt = (object: JsonObject, key: string): string => {
  const value = object[key];
  return typeof value === "string" ? value : "";
};
