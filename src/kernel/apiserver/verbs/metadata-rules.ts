import { isJsonObject, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { ResourceType, StatusCause } from "#kernel/model/index.ts";
import { finalizersOf, isTerminating, metadataOf } from "./metadata.ts";
import { labelRule, labelValueRule, type NameRule, qualifiedNameRule, subdomainRule } from "./names.ts";
import { forbiddenField, invalidValue, required, tooLongField, wrongType } from "./refusals.ts";

const maxAnnotationBytes = 256 * 1024;

/** Everything wrong with the metadata of an object about to be stored, beyond what only its history can tell. */
export function checkMetadata(object: JsonObject, type: ResourceType): readonly StatusCause[] {
  const metadata = metadataOf(object);
  return [
    ...checkName(metadata, type),
    ...checkLabels(metadata["labels"]),
    ...checkAnnotations(metadata["annotations"]),
    ...checkFinalizers(metadata["finalizers"]),
    ...checkOwners(metadata["ownerReferences"]),
  ];
}

const nameRuleOf = (type: ResourceType): NameRule =>
  type.group === "" && type.plural === "namespaces" ? labelRule : subdomainRule;

function checkName(metadata: JsonObject, type: ResourceType): readonly StatusCause[] {
  const { name } = metadata;
  if (name === undefined || name === "") return [required("metadata.name", "name or generateName is required")];
  if (typeof name !== "string") return [wrongType("metadata.name", name, "a string")];
  const wrong = nameRuleOf(type)(name);
  return wrong === undefined ? [] : [invalidValue("metadata.name", name, wrong)];
}

function checkLabels(labels: JsonValue | undefined): readonly StatusCause[] {
  return stringMap(labels, "metadata.labels", (key, value, field) => [
    ...cause(qualifiedNameRule(key), "metadata.labels", key),
    ...cause(labelValueRule(value), field, value),
  ]);
}

function checkAnnotations(annotations: JsonValue | undefined): readonly StatusCause[] {
  let bytes = 0;
  const causes = stringMap(annotations, "metadata.annotations", (key, value) => {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    // Unlike label keys these are compared in lower case.
    return cause(qualifiedNameRule(key.toLowerCase()), "metadata.annotations", key);
  });
  const large = bytes > maxAnnotationBytes;
  const detail = `keys and values together must be no more than ${maxAnnotationBytes} bytes, found ${bytes}`;
  return large ? [...causes, tooLongField("metadata.annotations", detail)] : causes;
}

const cause = (wrong: string | undefined, field: string, value: unknown): readonly StatusCause[] =>
  wrong === undefined ? [] : [invalidValue(field, value, wrong)];

function stringMap(
  value: JsonValue | undefined,
  field: string,
  check: (key: string, value: string, field: string) => readonly StatusCause[],
): readonly StatusCause[] {
  if (value === undefined || value === null) return [];
  if (!isJsonObject(value)) return [wrongType(field, value, "an object of strings")];
  return Object.entries(value).flatMap(([key, item]) => {
    const place = `${field}[${key}]`;
    return typeof item === "string" ? check(key, item, place) : [wrongType(place, item, "a string")];
  });
}

function checkFinalizers(finalizers: JsonValue | undefined): readonly StatusCause[] {
  if (finalizers === undefined || finalizers === null) return [];
  if (!Array.isArray(finalizers)) return [wrongType("metadata.finalizers", finalizers, "a list of strings")];
  return finalizers.flatMap((item: JsonValue, index) => {
    const field = `metadata.finalizers[${index}]`;
    return typeof item === "string"
      ? cause(qualifiedNameRule(item), field, item)
      : [wrongType(field, item, "a string")];
  });
}

function checkOwners(owners: JsonValue | undefined): readonly StatusCause[] {
  const field = "metadata.ownerReferences";
  if (owners === undefined || owners === null) return [];
  if (!Array.isArray(owners)) return [wrongType(field, owners, "a list of objects")];
  const causes = owners.flatMap((owner: JsonValue, index) => checkOwner(owner, `${field}[${index}]`));
  const controllers = owners.filter((owner: JsonValue) => isJsonObject(owner) && owner["controller"] === true);
  if (controllers.length < 2) return causes;
  return [...causes, invalidValue(field, controllers.length, "only one reference may have controller set to true")];
}

function checkOwner(owner: JsonValue, field: string): readonly StatusCause[] {
  if (!isJsonObject(owner)) return [wrongType(field, owner, "an object")];
  return ["apiVersion", "kind", "name", "uid"].flatMap((member) => {
    const value = owner[member];
    if (typeof value === "string" && value !== "") return [];
    return value === undefined || value === "" || value === null
      ? [required(`${field}.${member}`, "must not be empty")]
      : [wrongType(`${field}.${member}`, value, "a string")];
  });
}

/** What an update may not do to the metadata of the object it changes. */
export function checkMetadataUpdate(object: JsonObject, old: JsonObject): readonly StatusCause[] {
  const metadata = metadataOf(object);
  const before = metadataOf(old);
  const causes = ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"]
    .filter((member) => !jsonEquals(metadata[member], before[member]))
    .map((member) => invalidValue(`metadata.${member}`, metadata[member], "field is immutable"));
  const added = isTerminating(old) ? finalizersOf(object).filter((name) => !finalizersOf(old).includes(name)) : [];
  if (added.length === 0) return causes;
  const detail = `no new finalizers can be added while the object is being deleted, found ${added.join(", ")}`;
  return [...causes, forbiddenField("metadata.finalizers", detail)];
}
