import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import type { Kind, PrinterColumn } from "./kind.ts";
import type { Schema } from "./schema.ts";

/** A CustomResourceDefinition, ready to be applied. */
export type CrdDocument = JsonObject & {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
};

/** The CustomResourceDefinition (`apiextensions.k8s.io/v1`) that declares this kind to a Kubernetes API server. */
export const toCrd = (kind: Kind): CrdDocument => definitionOf(kind, []);

/** The definitions of these kinds. Versions of a kind share one: the first gives names and scope and is stored. */
export function toCrds(kinds: readonly Kind[]): readonly CrdDocument[] {
  const versions = new Map<string, [Kind, ...Kind[]]>();
  for (const kind of kinds) {
    const name = `${kind.plural}.${kind.group}`;
    const known = versions.get(name);
    if (known === undefined) versions.set(name, [kind]);
    else known.push(kind);
  }
  return [...versions.values()].map(([first, ...others]) => definitionOf(first, others));
}

function definitionOf(kind: Kind, others: readonly Kind[]): CrdDocument {
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
      versions: [versionOf(kind, true), ...others.map((other) => versionOf(other, false))],
    },
  };
}

/** A version declared in code is served. */
const versionOf = (kind: Kind, storage: boolean): JsonObject => ({
  name: kind.version,
  served: true,
  storage,
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
