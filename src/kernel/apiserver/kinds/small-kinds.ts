import { jsonEquals, type JsonObject, isTrueAt, listAt, numberAt, objectAt, textAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { ConfigMap, Lease, Namespace, ServiceAccount } from "#kernel/model/index.ts";
import { definitionNames, mapMember, withMembers } from "#kernel/specs/index.ts";
import { configMapTable, leaseTable, namespaceTable, serviceAccountTable } from "../tables/small-kinds.ts";
import { type BuiltIn, everyVerb, type Rule, textField } from "./built-in.ts";

// Kinds that are little more than their schema. What each may hold is Kubernetes' own (core/v1 and coordination.k8s.io/v1 validation).

/** Most bytes of data in one ConfigMap or Secret, values decoded: 1 MiB, so that several fit into one answer. */
export const mostDataBytes = 1_048_576;

/** Given by the server to every namespace (KEP-2161). */
const nameLabel = "kubernetes.io/metadata.name";

/** The label by which selectors name a namespace follows its name whatever a client writes. */
function withNameLabel(object: JsonObject): JsonObject {
  const name = textAt(object, "metadata", "name");
  if (name === undefined || textAt(object, "metadata", "labels", nameLabel) === name) return object;
  return mapMember(object, "metadata", (metadata) => ({
    ...metadata,
    labels: { ...objectAt(metadata, "labels"), [nameLabel]: name },
  }));
}

/**
 * A namespace is Active until it is deleted; then it stays, Terminating, until the collector has emptied it and takes the finalizer
 * `kubernetes` away through `/finalize`. Clients can neither add nor remove that finalizer on the main endpoint.
 */
export const namespaceKind: BuiltIn = {
  type: Namespace,
  // As in Kubernetes: one slip of a path must not take everything along.
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
  // The finalizer keeps the namespace until it is empty; only /finalize takes it away.
  prepareForUpdate: (object, old) =>
    withMembers(object, {
      spec: withMembers(objectAt(object, "spec") ?? {}, { finalizers: valueAt(old, "spec", "finalizers") }),
    }),
  fields: { "status.phase": textField("status", "phase") },
};

/** A client's own finalizers come first and stay. */
const withFinalizer = (finalizers: readonly unknown[]): readonly string[] => [
  ...new Set([...finalizers.filter((name) => typeof name === "string"), "kubernetes"]),
];

/** Characters of a key, which are those of a portable file name. */
const dataKey = /^[-._a-zA-Z0-9]+$/;

/**
 * Says what is wrong with a key of a ConfigMap or Secret, or undefined. A key may become the name of a file in a volume, beside the
 * `..data` links by which volumes are updated at once: hence no slash, and nothing that begins with `..`.
 */
export function dataKeyProblem(key: string): string | undefined {
  if (key.length > 253) return "must be no more than 253 characters";
  if (key === "." || key === ".." || key.startsWith("..")) return 'must not be "." or begin with ".."';
  return dataKey.test(key) ? undefined : 'must consist of letters, digits, "-", "_" and "."';
}

/** Texts and bytes are two members with one space of keys, and one limit of size. */
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

/** A rule for updates: once immutable, these members stay and so does the mark; only deletion ends it. Absent and empty are the same. */
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

/** Data for Pods. Has no status and no generation. */
export const configMapKind: BuiltIn = {
  type: ConfigMap,
  definition: definitionNames.configMap,
  table: configMapTable,
  rules: [configMapRule],
  updateRules: [immutableDataRule("data", "binaryData")],
};

/** An identity for Pods. Tokens are asked for, never listed in the object. */
export const serviceAccountKind: BuiltIn = {
  type: ServiceAccount,
  definition: definitionNames.serviceAccount,
  subresources: ["token"],
  table: serviceAccountTable,
};

/** Durations in seconds. An empty holder is allowed: it is how older clients of Kubernetes give a Lease back. */
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

/** What elections write to. A PUT must say which revision it replaces, or two leaders could overwrite each other unseen. */
export const leaseKind: BuiltIn = {
  type: Lease,
  definition: definitionNames.lease,
  table: leaseTable,
  allowsUnconditionalUpdate: false,
  rules: [leaseRule],
};
