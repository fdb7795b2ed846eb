import {
  jsonEquals,
  type JsonObject,
  isTrueAt,
  listAt,
  objectAt,
  objectsAt,
  textAt,
  valueAt,
} from "#lib/base/index.ts";
import { type CompileRule, fieldError } from "#lib/schema/index.ts";
import { labelRule, subdomainRule } from "#kernel/model/index.ts";
import type { Rule } from "../kinds/built-in.ts";
import { approvalAnnotation, isProtectedGroup } from "./conditions.ts";
import { conditionStatus, readDefinition } from "./definition.ts";
import { checkVersion } from "./version-rules.ts";

// What can be wrong with a CustomResourceDefinition, as Kubernetes' apiextensions validation has it, and the limits of this server,
// each with a message that names it: no conversion, no fields kept by the kind as a whole.

/** RFC 1035: unlike a label of RFC 1123 it begins with a letter. */
const dnsLabel1035 = /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
/** One sentence for all of them: what is wrong with a name is seen at a glance. */
const labelDetail =
  'must consist of lower case letters, digits and "-", begin with a letter and end with a letter or digit, at most 63 characters';

/**
 * Names become parts of paths, of commands and of documents. Kinds are checked in lower case: `Widget` is a label but for its
 * capital. The definition is called `<plural>.<group>`, so that two definitions never declare the same path.
 */
export const namesRule: Rule = (crd, { errors }) => {
  const { name, group, names } = readDefinition(crd);
  const expected = `${names.plural}.${group}`;
  if (name !== expected)
    errors.push(
      fieldError.invalid(
        "metadata.name",
        name,
        `must be spec.names.plural+"."+spec.group, which is ${JSON.stringify(expected)}`,
      ),
    );
  if (group === "") errors.push(fieldError.required("spec.group"));
  else if (subdomainRule(group) !== undefined || !group.includes(".")) {
    errors.push(fieldError.invalid("spec.group", group, "must be a domain name with at least one dot"));
  }
  const labels = {
    plural: names.plural,
    singular: names.singular,
    kind: names.kind.toLowerCase(),
    listKind: names.listKind.toLowerCase(),
  };
  for (const [field, value] of Object.entries(labels)) {
    if (value === "") errors.push(fieldError.required(`spec.names.${field}`));
    else if (!dnsLabel1035.test(value)) errors.push(fieldError.invalid(`spec.names.${field}`, value, labelDetail));
  }
  if (names.kind !== "" && names.kind === names.listKind)
    errors.push(fieldError.invalid("spec.names.listKind", names.listKind, "must differ from kind"));
  for (const [index, shortName] of names.shortNames.entries()) {
    if (!dnsLabel1035.test(shortName))
      errors.push(fieldError.invalid(["spec", "names", "shortNames", index], shortName, labelDetail));
  }
  for (const [index, category] of names.categories.entries()) {
    if (labelRule(category) !== undefined)
      errors.push(fieldError.invalid(["spec", "names", "categories", index], category, labelDetail));
  }
  const scope = valueAt(crd, "spec", "scope");
  if (scope !== "Cluster" && scope !== "Namespaced")
    errors.push(fieldError.notSupported("spec.scope", scope ?? "", ["Cluster", "Namespaced"]));
};

/**
 * Versions have names of their own, one of them stores, and each is right in itself. `compileRule` is what evaluates
 * `x-kubernetes-validations`; without it they have no effect and are warned about.
 */
export const versionsRule =
  (compileRule: CompileRule | undefined): Rule =>
  (crd, found) => {
    const versions = objectsAt(crd, "spec", "versions");
    if (versions.length === 0)
      found.errors.push(fieldError.required("spec.versions", "must have at least one version"));
    const names = new Set<string>();
    for (const [index, version] of versions.entries()) {
      const name = textAt(version, "name") ?? "";
      const at = ["spec", "versions", index];
      if (!dnsLabel1035.test(name)) found.errors.push(fieldError.invalid([...at, "name"], name, labelDetail));
      if (names.has(name)) found.errors.push(fieldError.duplicate([...at, "name"], name));
      names.add(name);
      checkVersion(version, at, found, compileRule);
    }
    const storing = versions.filter((version) => isTrueAt(version, "storage")).length;
    if (versions.length > 0 && storing !== 1) {
      found.errors.push(
        fieldError.invalid("spec.versions", storing, "must have exactly one version marked as storage version"),
      );
    }
  };

/** Versions are told apart by `apiVersion` alone. Defaults have taken the webhook of a single version out of force before. */
export const conversionRule: Rule = (crd, { errors, warnings }) => {
  const spec = objectAt(crd, "spec");
  if (isTrueAt(spec, "preserveUnknownFields")) {
    errors.push(
      fieldError.invalid(
        "spec.preserveUnknownFields",
        true,
        "must be false: set x-kubernetes-preserve-unknown-fields in the schema instead",
      ),
    );
  }
  const strategy = textAt(spec, "conversion", "strategy") ?? "None";
  if (strategy === "Webhook") {
    errors.push(fieldError.forbidden("spec.conversion.strategy", "conversion webhooks are not supported; use None"));
  } else if (strategy !== "None") {
    errors.push(fieldError.notSupported("spec.conversion.strategy", strategy, ["None"]));
  } else if (objectAt(spec, "conversion", "webhook") !== undefined) {
    warnings.push("spec.conversion: the webhook is not called; there is one version and nothing to convert");
  }
};

/** KEP-2337: who declares an API in a group of the Kubernetes community says where it was approved, or that it was not. */
export const approvalRule: Rule = (crd, { errors }) => {
  const { group } = readDefinition(crd);
  if (!isProtectedGroup(group)) return;
  const at = `metadata.annotations[${approvalAnnotation}]`;
  const approval = textAt(crd, "metadata", "annotations", approvalAnnotation);
  if (approval === undefined) {
    errors.push(
      fieldError.required(
        at,
        "groups of the Kubernetes community need the URL of their approval, or a text that begins with unapproved",
      ),
    );
  } else if (!approval.startsWith("unapproved") && !/^https?:\/\/[^\s/]+/.test(approval)) {
    errors.push(fieldError.invalid(at, approval, "must be a URL, or begin with unapproved"));
  }
};

/** Objects are stored under group and plural. Kind and scope stay once objects of the kind may exist. */
export const immutableRule: Rule = (crd, { errors }, old) => {
  if (old === undefined) return;
  // Before its names were accepted nothing can have been stored, and kind and scope may still be put right.
  const fixed =
    conditionStatus(old, "Established") === "True"
      ? ["group", "scope", "names.kind", "names.plural"]
      : ["group", "names.plural"];
  for (const field of fixed) {
    const path = field.split(".");
    const value = valueAt(crd, "spec", ...path);
    if (!jsonEquals(value, valueAt(old, "spec", ...path)))
      errors.push(fieldError.invalid(`spec.${field}`, value, "field is immutable"));
  }
};

/**
 * A version in which objects may still be stored cannot go. Who has migrated them says so by taking the version out of
 * `status.storedVersions`, on `/status`.
 */
export const storedVersionsRule: Rule = (crd: JsonObject, { errors }, old) => {
  const names = objectsAt(crd, "spec", "versions").map((version) => version["name"]);
  for (const [index, stored] of listAt(old, "status", "storedVersions").entries()) {
    if (!names.includes(stored)) {
      errors.push(fieldError.invalid(["status", "storedVersions", index], stored, "must appear in spec.versions"));
    }
  }
};
