import { type FieldPath, jsonEquals, listAt, objectAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { parseQuantity } from "#lib/text/index.ts";
import { PersistentVolumeClaim } from "#kernel/model/index.ts";
import { checkOneOf, definitionNames, mapMember, type Report, scalarText, withAbsent } from "#kernel/specs/index.ts";
import { claimTable } from "../tables/claim.ts";
import type { BuiltIn, Rule } from "./built-in.ts";

// Kubernetes' defaults and validation. Every claim is a directory made by #kernel/workloads.

const at: FieldPath = ["spec"];
const modes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"] as const;

/** Only the size has no default. */
const specRule: Rule = (claim, { errors, warnings }) => {
  const spec = objectAt(claim, "spec") ?? {};
  const report: Report = (error) => void errors.push(error);
  const wanted = listAt(spec, "accessModes");
  if (wanted.length === 0) report(fieldError.required([...at, "accessModes"], "at least 1 access mode is required"));
  for (const [index, mode] of wanted.entries())
    if (!modes.some((known) => known === mode))
      report(fieldError.notSupported([...at, "accessModes", index], mode, modes));
  if (wanted.length > 1 && wanted.includes("ReadWriteOncePod"))
    report(fieldError.forbidden([...at, "accessModes"], "may not use ReadWriteOncePod with other access modes"));
  checkOneOf(spec, "volumeMode", ["Block", "Filesystem"], at, report);
  const here = [...at, "resources", "requests", "storage"];
  const storage = valueAt(spec, "resources", "requests", "storage");
  if (storage === undefined) return report(fieldError.required(here));
  const size = parseQuantity(scalarText(storage));
  if (!size.ok) report(fieldError.invalid(here, storage, size.error));
  else if (size.value.nano <= 0n) report(fieldError.invalid(here, storage, "must be greater than zero"));
  for (const name of ["selector", "dataSource", "dataSourceRef"])
    if (valueAt(spec, name) !== undefined)
      warnings.push(`spec.${name}: kept, without effect: a claim is a new directory`);
};

/** A directory is no block device. */
const modeRule: Rule = (claim, { unsupported }) => {
  if (valueAt(claim, "spec", "volumeMode") === "Block")
    unsupported.push(fieldError.notSupported([...at, "volumeMode"], "Block", ["Filesystem"]));
};

/** Everything except the size, which may grow, and `volumeName`, which the binder sets. */
const immutableRule: Rule = (claim, { errors }, old) => {
  const [after, before] = [objectAt(claim, "spec") ?? {}, objectAt(old, "spec") ?? {}];
  const bound = before["volumeName"] === undefined ? { volumeName: after["volumeName"] } : {};
  const same = { ...before, ...bound, resources: after["resources"] };
  if (!jsonEquals(after, same))
    errors.push(
      fieldError.forbidden("spec", "spec is immutable after creation except resources.requests for bound claims"),
    );
  const size = (spec: typeof after) => parseQuantity(scalarText(valueAt(spec, "resources", "requests", "storage")));
  const [now, then] = [size(after), size(before)];
  if (now.ok && then.ok && now.value.nano < then.value.nano)
    errors.push(fieldError.forbidden("spec.resources.requests.storage", "field can not be less than previous value"));
};

/** Keeps a claim and its directory while Pods use it (KEP-498). */
const protection = "kubernetes.io/pvc-protection";

export const claimKind: BuiltIn = {
  type: PersistentVolumeClaim,
  definition: definitionNames.persistentVolumeClaim,
  table: claimTable,
  subresources: ["status"],
  defaults: (claim) => mapMember(claim, "spec", (spec) => withAbsent(spec, { volumeMode: "Filesystem" })),
  prepareForCreate: (claim) => ({
    ...mapMember(claim, "metadata", (metadata) => ({
      ...metadata,
      finalizers: [...new Set([...listAt(metadata, "finalizers"), protection])],
    })),
    status: { phase: "Pending" },
  }),
  rules: [specRule, modeRule],
  updateRules: [immutableRule],
};
