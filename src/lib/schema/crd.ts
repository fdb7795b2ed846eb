import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import type { Kind, PrinterColumn } from "./kind.ts";
import type { Schema } from "./schema.ts";

/** A CustomResourceDefinition, ready to be applied. */
export type CrdDocument = JsonObject & {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
};

/** The CustomResourceDefinition document (`apiextensions.k8s.io/v1`) that declares this kind to any Kubernetes API server. */
export function toCrd(kind: Kind): CrdDocument {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    // Kubernetes demands this name.
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      scope: kind.namespaced ? "Namespaced" : "Cluster",
      names: {
        plural: kind.plural,
        singular: kind.singular,
        kind: kind.kind,
        listKind: kind.listKind,
        ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
        ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
      },
      versions: [versionOf(kind)],
    },
  };
}

/** A kind declared in code has one version, which is served and stored. */
const versionOf = (kind: Kind): JsonObject => ({
  name: kind.version,
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schemaAsJson(kind.schema) },
  ...(kind.hasStatus ? { subresources: { status: {} } } : {}),
  ...(kind.columns.length === 0 ? {} : { additionalPrinterColumns: kind.columns.map(columnAsJson) }),
  ...(kind.selectableFields.length === 0
    ? {}
    : { selectableFields: kind.selectableFields.map((jsonPath) => ({ jsonPath })) }),
});

/** The members of a column have the names that CustomResourceDefinitions use. */
const columnAsJson = (column: PrinterColumn): JsonObject => ({ ...column });

/** A schema is JSON; its type only lists the members by name. */
export const schemaAsJson = (schema: Schema): JsonObject => schema as JsonObject & Record<string, JsonValue>;
