import { isJsonObject, type JsonObject, type JsonValue, jsonEquals } from "#lib/base/index.ts";
import type { Report } from "#kernel/dialect/index.ts";

/** How far a step has come, for what may still be done to it; the words of the messages. */
type Progress = "unstarted" | "running" | "completed";

/** What the run was started with: values that expressions have used already, and labels that children bear. */
const immutable = ["selector", "params", "arguments", "templateRef", "concurrency"] as const;
/** What is left of it while the template has not been found or does not take the arguments: nothing has used those yet. */
const startedWith = ["selector", "params"] as const;
/** May change at any time, even of a finished workflow. */
const alwaysEditable = new Set(["ttlSecondsAfterFinished"]);

/**
 * Reports what a change of a stored workflow may not do: touch anything but its retention after its end, change or remove
 * steps that have started, or change what the run was started with. Whether the result is right is checked elsewhere, and
 * need not be where the answer is `finished`: then the workflow is over and the change is refused whatever else it holds.
 */
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

/** A run that is over is a record: what it says it ran must stay what it ran. True when it does. */
function checkFinished(next: JsonObject, before: JsonObject, report: Report): boolean {
  const fields = new Set([...Object.keys(next), ...Object.keys(before)]);
  const changed = [...fields].filter((field) => !alwaysEditable.has(field) && !jsonEquals(next[field], before[field]));
  for (const field of changed) report(["spec", field], "forbidden", "cannot update completed workflow");
  return changed.length === 0;
}

/** One complaint per step, at the step: which of its fields changed is for the person to see. */
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

/**
 * Attempted, suspended or settled steps have started; attempts of earlier runs do not count, nor does a step that a
 * retry has put back to Pending.
 */
function progressOf(status: JsonValue | undefined): Progress {
  if (!isJsonObject(status)) return "unstarted";
  const { phase } = status;
  if (phase === "Succeeded" || phase === "Failed" || phase === "Skipped" || phase === "Canceled") return "completed";
  if (phase === "Suspended") return "running";
  return numberOf(status["attempt"]) > numberOf(status["earlierAttempts"]) && phase !== "Pending"
    ? "running"
    : "unstarted";
}

/** Missing counts are zero. */
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
