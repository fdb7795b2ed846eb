import { type JsonObject, isTrueAt, listAt, numberAt, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import type { ColumnType } from "#lib/schema/index.ts";
import { preferredVersionAnnotation } from "./preferred-version.ts";

/** How the kind is called. Texts are empty when the document lacks them; rules refuse that. */
export interface DefinitionNames {
  /** The name in paths, and with the group the name of the definition: `widgets`. */
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
}

/** A column of `kubectl get`, beside the name. */
export interface DefinitionColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** kubectl's JSONPath without braces, from the object: `.spec.replicas`. */
  readonly jsonPath: string;
  readonly format?: string;
  readonly description?: string;
  /** Above 0: only with `-o wide`. */
  readonly priority: number;
}

/** One version of the kind. All versions of an object are stored alike; they differ in what they let in and how they show it. */
export interface DefinitionVersion {
  readonly name: string;
  /** False: clients get 404, objects stay. */
  readonly served: boolean;
  /** True for exactly one version. */
  readonly storage: boolean;
  /** Every answer of this version carries a warning: `deprecationWarning`, or the usual one when that is undefined. */
  readonly deprecated: boolean;
  readonly deprecationWarning: string | undefined;
  /** The schema as it is written, not yet read as a structural one. */
  readonly schema: JsonObject | undefined;
  /** Has `/status`: the main endpoint then leaves status alone. */
  readonly hasStatus: boolean;
  /** The paths of `/scale`, as they are written. */
  readonly scale: JsonObject | undefined;
  readonly columns: readonly DefinitionColumn[];
  /** Paths such as `.spec.color`; the field labels are the same without the first dot. */
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
  /** The version that clients are to prefer, whatever Kubernetes' priority says; see `preferredVersionAnnotation`. */
  readonly preferredVersion: string | undefined;
  /** True once its names were accepted; it stays true when new names clash. */
  readonly isEstablished: boolean;
}

const text = (object: JsonObject | undefined, name: string): string => textAt(object, name) ?? "";
const texts = (object: JsonObject | undefined, name: string): readonly string[] =>
  listAt(object, name).filter((item) => typeof item === "string");

/** Reads a CustomResourceDefinition whose types have been checked. Never throws; what is missing reads as empty, false or undefined. */
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

/** The status of a condition of the definition, such as `True`, or undefined when there is no such condition. */
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

/** The types a column may have, as messages list them. */
export const columnTypes: readonly ColumnType[] = ["integer", "number", "string", "boolean", "date"];
