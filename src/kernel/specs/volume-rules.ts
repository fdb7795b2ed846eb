import { type FieldPath, type JsonObject, numberAt, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { labelRule } from "#kernel/model/index.ts";
import { checkPodFacts } from "./environment-rules.ts";
import { checkNamed, checkOneOf, checkUnion, type Report } from "./findings.ts";

// Volumes of a Pod: sources, paths and permissions.

/** Sources the local Pod runner supports, in message order. The Pod's start checks that the objects exist. */
const volumeSources = [
  "emptyDir",
  "configMap",
  "secret",
  "projected",
  "downwardAPI",
  "hostPath",
  "persistentVolumeClaim",
];

/** Checks the volumes and returns all names, so that mounts of faulty ones are not reported as well. */
export function checkVolumes(spec: JsonObject, at: FieldPath, report: Report, refuse: Report): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [index, volume] of objectsAt(spec, "volumes").entries()) {
    const here = [...at, "volumes", index];
    const name = textAt(volume, "name") ?? "";
    const isValid = checkNamed(volume, "name", labelRule, here, report);
    if (isValid && names.has(name)) report(fieldError.duplicate([...here, "name"], name));
    names.add(name);
    checkVolumeSource(volume, here, report, refuse);
  }
  return names;
}

/** Exactly one type; defaults turn none into `emptyDir`. */
function checkVolumeSource(volume: JsonObject, at: FieldPath, report: Report, refuse: Report) {
  const sources = Object.keys(volume).filter((name) => name !== "name" && valueAt(volume, name) !== undefined);
  const known = sources.filter((name) => volumeSources.includes(name));
  for (const name of sources.filter((source) => !volumeSources.includes(source))) {
    refuse(
      fieldError.forbidden(
        [...at, name],
        `this type of volume is not supported; supported types: ${volumeSources.join(", ")}`,
      ),
    );
  }
  for (const name of known.slice(1))
    report(fieldError.forbidden([...at, name], "may not specify more than 1 volume type"));
  const required = { configMap: "name", secret: "secretName", hostPath: "path", persistentVolumeClaim: "claimName" };
  for (const [source, field] of Object.entries(required)) {
    if (known.includes(source) && textAt(volume, source, field) === undefined)
      report(fieldError.required([...at, source, field]));
  }
  for (const name of known) checkContent(objectAt(volume, name) ?? {}, name, [...at, name], report);
  checkProjected(objectAt(volume, "projected") ?? {}, [...at, "projected"], report);
}

/** Sources of projected volumes; one kind may occur several times. */
const projectable = ["configMap", "secret", "downwardAPI", "serviceAccountToken"];

function checkProjected(projected: JsonObject, at: FieldPath, report: Report) {
  for (const [index, source] of objectsAt(projected, "sources").entries()) {
    const here = [...at, "sources", index];
    checkUnion(source, projectable, here, report);
    for (const name of projectable) {
      const content = objectAt(source, name);
      if (content === undefined) continue;
      checkContent(content, name, [...here, name], report);
      const needsName = name === "configMap" || name === "secret";
      if (needsName && textAt(content, "name") === undefined) report(fieldError.required([...here, name, "name"]));
    }
  }
}

function checkContent(source: JsonObject, type: string, at: FieldPath, report: Report) {
  if (type === "hostPath") return checkHostPath(source, at, report);
  if (type === "serviceAccountToken") checkToken(source, at, report);
  checkMode(source, "defaultMode", at, report);
  for (const [index, item] of objectsAt(source, "items").entries()) {
    const here = [...at, "items", index];
    if (type === "downwardAPI") {
      checkUnion(item, ["fieldRef", "resourceFieldRef"], here, report);
      checkPodFacts(item, here, report);
    } else if (textAt(item, "key") === undefined) report(fieldError.required([...here, "key"]));
    checkFilePath(item, here, report);
    checkMode(item, "mode", here, report);
  }
}

/** A token must last long enough to be renewed. */
function checkToken(source: JsonObject, at: FieldPath, report: Report) {
  checkFilePath(source, at, report);
  const seconds = numberAt(source, "expirationSeconds");
  if (seconds !== undefined && seconds < 600) {
    const detail = "may not specify a duration less than 10 minutes";
    report(fieldError.invalid([...at, "expirationSeconds"], seconds, detail));
  }
}

/** What must exist at the path or is created there; empty means no check. */
const hostPathTypes = [
  "",
  "DirectoryOrCreate",
  "Directory",
  "FileOrCreate",
  "File",
  "Socket",
  "CharDevice",
  "BlockDevice",
];

/** The runner decides whether this server permits it at all. */
function checkHostPath(source: JsonObject, at: FieldPath, report: Report) {
  const path = textAt(source, "path") ?? "";
  if (path.split("/").includes("..")) report(fieldError.invalid([...at, "path"], path, 'must not contain ".."'));
  checkOneOf(source, "type", hostPathTypes, at, report);
}

/** A relative path inside the volume; `..data` is reserved for atomic updates. */
function checkFilePath(file: JsonObject, at: FieldPath, report: Report) {
  const path = textAt(file, "path");
  if (path === undefined) report(fieldError.required([...at, "path"]));
  else if (path.startsWith("/") || path.startsWith("..") || path.split("/").includes(".."))
    report(fieldError.invalid([...at, "path"], path, 'must be a relative path without ".."'));
}

const mostMode = 0o777;

/** JSON has no octal numbers: 644 is not 0644 and too large. */
function checkMode(object: JsonObject, name: string, at: FieldPath, report: Report) {
  const mode = numberAt(object, name);
  if (mode !== undefined && (mode < 0 || mode > mostMode))
    report(fieldError.invalid([...at, name], mode, "must be between 0 and 0777 (octal), which is 511"));
}
