import { type FieldPath, type JsonObject, numberAt, objectAt, objectsAt, textAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { labelRule } from "#kernel/model/index.ts";
import { checkPodFacts } from "./environment-rules.ts";
import { checkOneOf, checkUnion, type Report } from "./findings.ts";

// Volumes of a Pod: where their files come from, and under which names and permissions they are shown.

/**
 * Volume sources the local Pod runner knows how to make, in the order in which a refusal lists them. Whether what they refer to exists is
 * asked when the Pod starts and not here: it may be created in between.
 */
const volumeSources = [
  "emptyDir",
  "configMap",
  "secret",
  "projected",
  "downwardAPI",
  "hostPath",
  "persistentVolumeClaim",
];

/** Checks the volumes and returns their names, those of faulty volumes too, so that mounts of them are not called wrong as well. */
export function checkVolumes(spec: JsonObject, at: FieldPath, report: Report, refuse: Report): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [index, volume] of objectsAt(spec, "volumes").entries()) {
    const here = [...at, "volumes", index];
    const name = textAt(volume, "name");
    const problem = name === undefined ? undefined : labelRule(name);
    if (name === undefined) report(fieldError.required([...here, "name"]));
    else if (problem !== undefined) report(fieldError.invalid([...here, "name"], name, problem));
    else if (names.has(name)) report(fieldError.duplicate([...here, "name"], name));
    names.add(name ?? "");
    checkVolumeSource(volume, here, report, refuse);
  }
  return names;
}

/**
 * A volume is of exactly one type; none means `emptyDir`, which defaults have filled in. Of several known types the first stays and
 * the others are refused, each by its name.
 */
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

/** What a projected volume may show; several sources of one kind are allowed. */
const projectable = ["configMap", "secret", "downwardAPI", "serviceAccountToken"];

/** A projected volume shows several sources in one place. */
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

/** What a source shows: its files, their paths and modes. Sources that show no files have none of these members. */
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

/** A token must last long enough to be read and renewed. */
function checkToken(source: JsonObject, at: FieldPath, report: Report) {
  checkFilePath(source, at, report);
  const seconds = numberAt(source, "expirationSeconds");
  if (seconds !== undefined && seconds < 600) {
    const detail = "may not specify a duration less than 10 minutes";
    report(fieldError.invalid([...at, "expirationSeconds"], seconds, detail));
  }
}

/** What must be at the path, or is made there; empty means that nobody looks. */
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

/** A path of the machine. Whether this server permits it at all is the runner's to say. */
function checkHostPath(source: JsonObject, at: FieldPath, report: Report) {
  const path = textAt(source, "path") ?? "";
  if (path.split("/").includes("..")) report(fieldError.invalid([...at, "path"], path, 'must not contain ".."'));
  checkOneOf(source, "type", hostPathTypes, at, report);
}

/** The place of a file in its volume: relative, below it, and not beginning with the `..data` by which updates are made at once. */
function checkFilePath(file: JsonObject, at: FieldPath, report: Report) {
  const path = textAt(file, "path");
  if (path === undefined) report(fieldError.required([...at, "path"]));
  else if (path.startsWith("/") || path.startsWith("..") || path.split("/").includes(".."))
    report(fieldError.invalid([...at, "path"], path, 'must be a relative path without ".."'));
}

/** No set-user-id, set-group-id or sticky bits. */
const mostMode = 0o777;

/** Permissions of files. JSON has no octal numbers: whoever writes 644 for 0644 means another mode, and one that is too large. */
function checkMode(object: JsonObject, name: string, at: FieldPath, report: Report) {
  const mode = numberAt(object, name);
  if (mode !== undefined && (mode < 0 || mode > mostMode))
    report(fieldError.invalid([...at, name], mode, "must be between 0 and 0777 (octal), which is 511"));
}
