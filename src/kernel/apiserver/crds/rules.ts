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

// Kubernetes' validation of CustomResourceDefinitions, and limits of this server: no conversion, no
// preserveUnknownFields.

/** RFC 1035: unlike RFC 1123 it begins with a letter. */
const dnsLabel1035 = /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const labelDetail =
  'must consist of lower case letters, digits and "-", begin with a letter and end with a letter or digit, at most 63 characters';

/** Kinds are checked in lower case. The definition is named `<plural>.<group>`, so that paths are unique. */
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

/** `compileRule` evaluates `x-kubernetes-validations`; without it they cause warnings. */
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

/** Defaults have replaced the webhook of a single version. */
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

/** KEP-2337: APIs in community groups state their approval. */
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

/** Objects are stored under group and plural; kind and scope are fixed once objects may exist. */
export const immutableRule: Rule = (crd, { errors }, old) => {
  if (old === undefined) return;
  // Before that nothing can have been stored.
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

/** Objects may be stored in it. After a migration, remove it from `status.storedVersions`. */
export const storedVersionsRule: Rule = (crd: JsonObject, { errors }, old) => {
  const names = objectsAt(crd, "spec", "versions").map((version) => version["name"]);
  for (const [index, stored] of listAt(old, "status", "storedVersions").entries()) {
    if (!names.includes(stored)) {
      errors.push(fieldError.invalid(["status", "storedVersions", index], stored, "must appear in spec.versions"));
    }
  }
};
