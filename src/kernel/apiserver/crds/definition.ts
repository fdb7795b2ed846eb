import { type JsonObject, isTrueAt, listAt, numberAt, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import type { ColumnType } from "#lib/schema/index.ts";
import { preferredVersionAnnotation } from "./preferred-version.ts";

/** Names of the kind; missing ones are "", which rules refuse. */
export interface DefinitionNames {
  /** `widgets` */
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
}

export interface DefinitionColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** kubectl's JSONPath without braces: `.spec.replicas`. */
  readonly jsonPath: string;
  readonly format?: string;
  readonly description?: string;
  /** Above 0: only with `-o wide`. */
  readonly priority: number;
}

/** A version of the kind. All are stored alike. */
export interface DefinitionVersion {
  readonly name: string;
  /** False: clients get 404, objects stay. */
  readonly served: boolean;
  readonly storage: boolean;
  /** Answers carry `deprecationWarning`, or the default one. */
  readonly deprecated: boolean;
  readonly deprecationWarning: string | undefined;
  readonly schema: JsonObject | undefined;
  readonly hasStatus: boolean;
  readonly scale: JsonObject | undefined;
  readonly columns: readonly DefinitionColumn[];
  /** Paths such as `.spec.color`; field labels omit the first dot. */
  readonly selectableFields: readonly string[];
}

export interface Definition {
  readonly name: string;
  readonly group: string;
  readonly names: DefinitionNames;
  /** The served names; absent while they clash. */
  readonly acceptedNames: DefinitionNames | undefined;
  readonly namespaced: boolean;
  readonly versions: readonly DefinitionVersion[];
  /** See `preferredVersionAnnotation`. */
  readonly preferredVersion: string | undefined;
  /** Stays true when new names clash. */
  readonly isEstablished: boolean;
}

const text = (object: JsonObject | undefined, name: string): string => textAt(object, name) ?? "";
const texts = (object: JsonObject | undefined, name: string): readonly string[] =>
  listAt(object, name).filter((item) => typeof item === "string");

/** Never throws; missing values are "", false or undefined. */
export function readDefinition(crd: JsonObject): Definition {
  const spec = objectAt(crd, "spec") ?? {};
  const accepted = objectAt(crd, "status", "acceptedNames");
  return {
    name: textAt(crd, "metadata", "name") ?? "",
    group: text(spec, "group"),
    names: readNames(objectAt(spec, "names")),
    acceptedNames: textAt(accepted, "plural") === undefined ? undefined : readNames(accepted),
    namespaced: spec["scope"] === "Namespaced",
    versions: objectsAt(spec, "versions").map(readVersion),
    preferredVersion: textAt(crd, "metadata", "annotations", preferredVersionAnnotation),
    isEstablished: conditionStatus(crd, "Established") === "True",
  };
}

export const conditionStatus = (crd: JsonObject, type: string): unknown =>
  objectsAt(crd, "status", "conditions").find((condition) => condition["type"] === type)?.["status"];

const readNames = (names: JsonObject | undefined): DefinitionNames => ({
  plural: text(names, "plural"),
  singular: text(names, "singular"),
  kind: text(names, "kind"),
  listKind: text(names, "listKind"),
  shortNames: texts(names, "shortNames"),
  categories: texts(names, "categories"),
});

const readVersion = (version: JsonObject): DefinitionVersion => ({
  name: text(version, "name"),
  served: isTrueAt(version, "served"),
  storage: isTrueAt(version, "storage"),
  deprecated: isTrueAt(version, "deprecated"),
  deprecationWarning: textAt(version, "deprecationWarning"),
  schema: objectAt(version, "schema", "openAPIV3Schema"),
  hasStatus: objectAt(version, "subresources", "status") !== undefined,
  scale: objectAt(version, "subresources", "scale"),
  columns: objectsAt(version, "additionalPrinterColumns").map(readColumn),
  selectableFields: objectsAt(version, "selectableFields").map((field) => text(field, "jsonPath")),
});

function readColumn(column: JsonObject): DefinitionColumn {
  const [format, description] = [textAt(column, "format"), textAt(column, "description")];
  return {
    name: text(column, "name"),
    type: columnTypes.find((type) => type === valueAt(column, "type")) ?? "string",
    jsonPath: text(column, "jsonPath"),
    priority: numberAt(column, "priority") ?? 0,
    ...(format === undefined ? {} : { format }),
    ...(description === undefined ? {} : { description }),
  };
}

export const columnTypes: readonly ColumnType[] = ["integer", "number", "string", "boolean", "date"];
