import { type FieldPath, jsonEquals, listAt, objectAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { parseQuantity } from "#lib/text/index.ts";
import { PersistentVolumeClaim } from "#kernel/model/index.ts";
import { checkOneOf, definitionNames, mapMember, type Report, scalarText, withAbsent } from "#kernel/specs/index.ts";
import { claimTable } from "../tables/claim.ts";
import type { BuiltIn, Rule } from "./built-in.ts";

// PersistentVolumeClaims as they are stored: Kubernetes' defaults and validation of core/v1. On one machine every claim is a directory,
// which #kernel/workloads makes: there are no volumes to choose among, and no classes.

const at: FieldPath = ["spec"];
/** Whether one machine or several, one Pod or several may use it; on one machine the first three come to the same. */
const modes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"] as const;

/** How it may be used, and how much is asked for. Only the size has no default: a claim without one asks for nothing that can be given. */
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

/** A block device is nothing that a directory can be. */
const modeRule: Rule = (claim, { unsupported }) => {
  if (valueAt(claim, "spec", "volumeMode") === "Block")
    unsupported.push(fieldError.notSupported([...at, "volumeMode"], "Block", ["Filesystem"]));
};

/** All but the size, which may grow. `volumeName` is given once, by the binder. */
const immutableRule: Rule = (claim, { errors }, old) => {
  const [after, before] = [objectAt(claim, "spec") ?? {}, objectAt(old, "spec") ?? {}];
  // The binder sets the name of the volume once, with an update like any other.
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

/** Keeps a claim until nobody uses it (KEP-498): deleting it takes the directory along. */
const protection = "kubernetes.io/pvc-protection";

/**
 * New claims wait (Pending) and are protected from the start: a claim that is deleted before anybody has looked at it passes the same
 * gate as one that was used.
 */
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
