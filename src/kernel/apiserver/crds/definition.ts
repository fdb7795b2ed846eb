import type { JsonObject } from "#lib/base/index.ts";
import type { ColumnType } from "#lib/schema/index.ts";
import { isTrueAt, listAt, numberAt, objectAt, objectsAt, textAt, valueAt } from "../kinds/read.ts";

export interface DefinitionNames {
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
  readonly jsonPath: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority: number;
}

export interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated: boolean;
  readonly deprecationWarning: string | undefined;
  readonly schema: JsonObject | undefined;
  readonly hasStatus: boolean;
  readonly scale: JsonObject | undefined;
  readonly columns: readonly DefinitionColumn[];
  readonly selectableFields: readonly string[];
}

/** A CustomResourceDefinition, read. Missing texts are empty: whether they may be missing is for the rules to say. */
export interface Definition {
  readonly name: string;
  readonly group: string;
  readonly names: DefinitionNames;
  /** The names it is served by; absent while they clash with others. */
  readonly acceptedNames: DefinitionNames | undefined;
  readonly namespaced: boolean;
  readonly versions: readonly DefinitionVersion[];
  readonly isEstablished: boolean;
}

const text = (object: JsonObject | undefined, name: string): string => textAt(object, name) ?? "";
const texts = (object: JsonObject | undefined, name: string): readonly string[] =>
  listAt(object, name).filter((item) => typeof item === "string");

/** Reads a CustomResourceDefinition whose types have been checked. */
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
    isEstablished: conditionStatus(crd, "Established") === "True",
  };
}

/** The status of a condition, or undefined when there is no such condition. */
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
