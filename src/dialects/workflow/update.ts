import { isJsonObject, type JsonObject, type JsonValue, jsonEquals } from "#lib/base/index.ts";
import type { Report } from "#kernel/dialect/index.ts";

type Progress = "unstarted" | "running" | "completed";

/** Fields that expressions have used and labels that children carry. */
const immutable = ["selector", "params", "arguments", "templateRef", "concurrency"] as const;
/** The rest before a template is resolved, because nothing has used it. */
const startedWith = ["selector", "params"] as const;
const alwaysEditable = new Set(["ttlSecondsAfterFinished"]);

/** Reports forbidden changes of a stored workflow. Validity is checked elsewhere, except after `finished`. */
export function checkUpdate(object: JsonObject, old: JsonObject, report: Report): "finished" | "open" {
  const [next, before] = [objectAt(object, "spec"), objectAt(old, "spec")];
  if (isFinished(old)) return checkFinished(next, before, report) ? "open" : "finished";
  const statuses = objectAt(objectAt(old, "status"), "statuses");
  for (const part of ["steps", "finally"] as const) {
    const [steps, stepsBefore] = [objectAt(next, part), objectAt(before, part)];
    for (const [key, step] of Object.entries(stepsBefore)) {
      if (step === undefined) continue;
      checkStep(key, step, ownMember(steps, key), progressOf(ownMember(statuses, key)), part, report);
    }
  }
  const fixed = isUnresolved(before, old) ? startedWith : immutable;
  for (const field of fixed)
    if (!jsonEquals(next[field], before[field])) report(["spec", field], "immutable", "cannot be changed");
  return "open";
}

const isUnresolved = (spec: JsonObject, object: JsonObject): boolean =>
  spec["templateRef"] !== undefined && objectAt(object, "status")["resolvedSpec"] === undefined;

/** The spec of a finished run is a record. True if it was changed. */
function checkFinished(next: JsonObject, before: JsonObject, report: Report): boolean {
  const fields = new Set([...Object.keys(next), ...Object.keys(before)]);
  const changed = [...fields].filter((field) => !alwaysEditable.has(field) && !jsonEquals(next[field], before[field]));
  for (const field of changed) report(["spec", field], "forbidden", "cannot update completed workflow");
  return changed.length === 0;
}

function checkStep(
  key: string,
  before: JsonValue,
  next: JsonValue | undefined,
  progress: Progress,
  part: string,
  report: Report,
): void {
  if (progress === "unstarted" || jsonEquals(next, before)) return;
  report(
    ["spec", part, key],
    "forbidden",
    `cannot ${next === undefined ? "delete" : "modify"} ${progress} step "${key}"`,
  );
}

/** Attempted, suspended and settled steps have started. Attempts of earlier runs do not count. */
function progressOf(status: JsonValue | undefined): Progress {
  if (!isJsonObject(status)) return "unstarted";
  const { phase } = status;
  if (phase === "Succeeded" || phase === "Failed" || phase === "Skipped" || phase === "Canceled") return "completed";
  if (phase === "Suspended") return "running";
  return numberOf(status["attempt"]) > numberOf(status["earlierAttempts"]) && phase !== "Pending"
    ? "running"
    : "unstarted";
}

const numberOf = (value: JsonValue | undefined): number => (typeof value === "number" ? value : 0);

function isFinished(object: JsonObject): boolean {
  const phase = objectAt(object, "status")["phase"];
  return phase === "Succeeded" || phase === "Failed" || phase === "Canceled";
}

function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}

const ownMember = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;
