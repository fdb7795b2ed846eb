import { isJsonObject, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import {
  forbiddenField,
  invalidValue,
  isPathSegment,
  labelRule,
  labelValueRule,
  type NameRule,
  qualifiedNameRule,
  required,
  type ResourceType,
  type StatusCause,
  subdomainRule,
  tooLongField,
  wrongType,
} from "#kernel/model/index.ts";
import { finalizersOf, isTerminating, metadataOf } from "./metadata.ts";
import { foregroundFinalizer, orphanFinalizer } from "./propagation.ts";

/** Kubernetes' limit, keys and values together. */
const maxAnnotationBytes = 256 * 1024;

const collectionRules: readonly (readonly [string, (value: JsonValue) => readonly StatusCause[]])[] = [
  ["labels", checkLabels],
  ["annotations", checkAnnotations],
  ["finalizers", checkFinalizers],
  ["ownerReferences", checkOwners],
];

/** What is shared with `old`, the stored object, was checked before. */
export function checkMetadata(object: JsonObject, type: ResourceType, old: JsonObject = {}): readonly StatusCause[] {
  const metadata = metadataOf(object);
  const before = metadataOf(old);
  const { name } = before;
  const causes = name !== undefined && name === metadata["name"] ? [] : [...checkName(metadata, type)];
  for (const [member, check] of collectionRules) {
    const value = metadata[member];
    if (value !== undefined && value !== before[member]) causes.push(...check(value));
  }
  return causes;
}

/** Namespace names become parts of host names, so they have no dots; roles may be named `system:node`. */
function nameRuleOf({ group, plural }: ResourceType): NameRule {
  if (group === "rbac.authorization.k8s.io") return pathSegmentRule;
  return group === "" && plural === "namespaces" ? labelRule : subdomainRule;
}

const pathSegmentRule: NameRule = (name) =>
  isPathSegment(name) ? undefined : 'may not be "." or "..", or contain "/" or "%"';

/** `generateName` has already become a name. */
function checkName(metadata: JsonObject, type: ResourceType): readonly StatusCause[] {
  const { name } = metadata;
  if (name === undefined || name === "") return [required("metadata.name", "name or generateName is required")];
  if (typeof name !== "string") return [wrongType("metadata.name", name, "a string")];
  const wrong = nameRuleOf(type)(name);
  return wrong === undefined ? [] : [invalidValue("metadata.name", name, wrong)];
}

/** Keys and values have separate fields: `metadata.labels: Invalid value: "a b": …`, `metadata.labels[a]: …`. */
function checkLabels(labels: JsonValue | undefined): readonly StatusCause[] {
  return stringMap(labels, "metadata.labels", (key, value, field) => [
    ...cause(qualifiedNameRule(key), "metadata.labels", key),
    ...cause(labelValueRule(value), field, value),
  ]);
}

/** Values are free; their total size is bounded, because every list carries them. */
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

/** Calls `check` for each text; other values are errors. */
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
  const causes = finalizers.flatMap((item: JsonValue, index) => {
    const field = `metadata.finalizers[${index}]`;
    return typeof item === "string"
      ? cause(qualifiedNameRule(item), field, item)
      : [wrongType(field, item, "a string")];
  });
  if (!finalizers.includes(orphanFinalizer) || !finalizers.includes(foregroundFinalizer)) return causes;
  const detail = `${orphanFinalizer} and ${foregroundFinalizer} cannot both be set`;
  return [...causes, invalidValue("metadata.finalizers", finalizers, detail)];
}

/** At most one controller. Owners need not exist: the collector removes objects whose owners are missing. */
function checkOwners(owners: JsonValue | undefined): readonly StatusCause[] {
  const field = "metadata.ownerReferences";
  if (owners === undefined || owners === null) return [];
  if (!Array.isArray(owners)) return [wrongType(field, owners, "a list of objects")];
  const causes = owners.flatMap((owner: JsonValue, index) => checkOwner(owner, `${field}[${index}]`));
  const controllers = owners.filter((owner: JsonValue) => isJsonObject(owner) && owner["controller"] === true);
  if (controllers.length < 2) return causes;
  return [...causes, invalidValue(field, controllers.length, "only one reference may have controller set to true")];
}

/** Without a uid an owner could be confused with a namesake. Empty texts count as absent. */
function checkOwner(owner: JsonValue, field: string): readonly StatusCause[] {
  if (!isJsonObject(owner)) return [wrongType(field, owner, "an object")];
  if (owner["apiVersion"] === "v1" && owner["kind"] === "Event")
    return [invalidValue(field, owner, "an Event owns nothing")];
  return ["apiVersion", "kind", "name", "uid"].flatMap((member) => {
    const value = owner[member];
    if (typeof value === "string" && value !== "") return [];
    return value === undefined || value === "" || value === null
      ? [required(`${field}.${member}`, "must not be empty")]
      : [wrongType(`${field}.${member}`, value, "a string")];
  });
}

/** The object's identity, its deletion, and finalizers being added to a terminating object. */
export function checkMetadataUpdate(object: JsonObject, old: JsonObject): readonly StatusCause[] {
  const metadata = metadataOf(object);
  const before = metadataOf(old);
  const causes = ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"]
    .filter((member) => !jsonEquals(metadata[member], before[member]))
    .map((member) => invalidValue(`metadata.${member}`, metadata[member], "field is immutable"));
  const known = new Set(finalizersOf(old));
  const added = isTerminating(old) ? finalizersOf(object).filter((name) => !known.has(name)) : [];
  if (added.length === 0) return causes;
  const detail = `no new finalizers can be added while the object is being deleted, found ${added.join(", ")}`;
  return [...causes, forbiddenField("metadata.finalizers", detail)];
}
