import { jsonEquals, type JsonObject, isTrueAt, listAt, numberAt, objectAt, textAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { ConfigMap, Lease, Namespace, ServiceAccount } from "#kernel/model/index.ts";
import { definitionNames, mapMember, withMembers } from "#kernel/specs/index.ts";
import { configMapTable, leaseTable, namespaceTable, serviceAccountTable } from "../tables/small-kinds.ts";
import { type BuiltIn, everyVerb, type Rule, textField } from "./built-in.ts";

/** Most data in one ConfigMap or Secret, decoded. */
export const mostDataBytes = 1_048_576;

/** KEP-2161. */
const nameLabel = "kubernetes.io/metadata.name";

/** The label always equals the name. */
function withNameLabel(object: JsonObject): JsonObject {
  const name = textAt(object, "metadata", "name");
  if (name === undefined || textAt(object, "metadata", "labels", nameLabel) === name) return object;
  return mapMember(object, "metadata", (metadata) => ({
    ...metadata,
    labels: { ...objectAt(metadata, "labels"), [nameLabel]: name },
  }));
}

/** The collector empties deleted namespaces and removes the finalizer `kubernetes` through `/finalize`. */
export const namespaceKind: BuiltIn = {
  type: Namespace,
  // As in Kubernetes: one wrong path must not delete everything.
  verbs: everyVerb.filter((verb) => verb !== "deletecollection"),
  definition: definitionNames.namespace,
  table: namespaceTable,
  subresources: ["status", "finalize"],
  defaults: withNameLabel,
  prepareForCreate: (object) => ({
    ...object,
    spec: { ...objectAt(object, "spec"), finalizers: withFinalizer(listAt(object, "spec", "finalizers")) },
    status: { phase: "Active" },
  }),
  // Only /finalize changes the finalizers.
  prepareForUpdate: (object, old) =>
    withMembers(object, {
      spec: withMembers(objectAt(object, "spec") ?? {}, { finalizers: valueAt(old, "spec", "finalizers") }),
    }),
  fields: { "status.phase": textField("status", "phase") },
};

const withFinalizer = (finalizers: readonly unknown[]): readonly string[] => [
  ...new Set([...finalizers.filter((name) => typeof name === "string"), "kubernetes"]),
];

const dataKey = /^[-._a-zA-Z0-9]+$/;

/** A key may become a file name in a volume next to `..data` links: no slash, no leading `..`. */
export function dataKeyProblem(key: string): string | undefined {
  if (key.length > 253) return "must be no more than 253 characters";
  if (key === "." || key === ".." || key.startsWith("..")) return 'must not be "." or begin with ".."';
  return dataKey.test(key) ? undefined : 'must consist of letters, digits, "-", "_" and "."';
}

/** Both members share keys and the size limit. */
const configMapRule: Rule = (object, { errors }) => {
  const data = objectAt(object, "data") ?? {};
  const binary = objectAt(object, "binaryData") ?? {};
  let bytes = 0;
  for (const [member, values] of [
    ["data", data],
    ["binaryData", binary],
  ] as const) {
    for (const [key, value] of Object.entries(values)) {
      const problem = dataKeyProblem(key);
      if (problem !== undefined) errors.push(fieldError.invalid(`${member}[${key}]`, key, problem));
      const text = typeof value === "string" ? value : "";
      bytes += member === "data" ? Buffer.byteLength(text) : Buffer.byteLength(text, "base64");
      if (member === "binaryData" && Object.hasOwn(data, key)) {
        errors.push(fieldError.invalid(`data[${key}]`, key, "the key stands in binaryData too"));
      }
    }
  }
  if (bytes > mostDataBytes) errors.push(fieldError.tooLong("", mostDataBytes, "bytes"));
};

/** Once immutable, these members and the mark stay. Absent equals empty. */
export const immutableDataRule =
  (...members: readonly string[]): Rule =>
  (object, { errors }, old) => {
    if (old === undefined || !isTrueAt(old, "immutable")) return;
    if (!isTrueAt(object, "immutable"))
      errors.push(fieldError.forbidden("immutable", "field is immutable when `immutable` is set"));
    for (const member of members) {
      if (!jsonEquals(object[member] ?? {}, old[member] ?? {})) {
        errors.push(fieldError.forbidden(member, "field is immutable when `immutable` is set"));
      }
    }
  };

export const configMapKind: BuiltIn = {
  type: ConfigMap,
  definition: definitionNames.configMap,
  table: configMapTable,
  rules: [configMapRule],
  updateRules: [immutableDataRule("data", "binaryData")],
};

/** Tokens are requested, never listed. */
export const serviceAccountKind: BuiltIn = {
  type: ServiceAccount,
  definition: definitionNames.serviceAccount,
  subresources: ["token"],
  table: serviceAccountTable,
};

/** An empty holder is allowed: older clients release a Lease that way. */
const leaseRule: Rule = (object, { errors }) => {
  const spec = objectAt(object, "spec") ?? {};
  const duration = numberAt(spec, "leaseDurationSeconds");
  if (duration !== undefined && duration <= 0) {
    errors.push(fieldError.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"));
  }
  const transitions = numberAt(spec, "leaseTransitions");
  if (transitions !== undefined && transitions < 0) {
    errors.push(fieldError.invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"));
  }
};

/** A PUT needs a revision, or two leaders could overwrite each other. */
export const leaseKind: BuiltIn = {
  type: Lease,
  definition: definitionNames.lease,
  table: leaseTable,
  allowsUnconditionalUpdate: false,
  rules: [leaseRule],
};
