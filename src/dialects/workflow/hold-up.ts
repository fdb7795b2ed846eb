import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { HoldUp } from "#engine/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";

// Nothing here needs Node: the web interface looks at workflows through this file too.

/** A Pod is on its way: there is nothing to be told. */
const ordinary: ReadonlySet<string> = new Set(["", "ContainerCreating", "PodInitializing"]);

/** What does not pass by trying again: something that the Pod names is missing or wrong. */
const lasting: ReadonlySet<string> = new Set([
  "Unschedulable",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
  "InvalidImageName",
  "ErrImageNeverPull",
]);

/**
 * Why the Pods of an attempt are not at work, in the words of whoever runs them: what the first one says that is held up. Undefined
 * when all of them are on their way, at work or over.
 */
export function holdUpOf(pods: readonly KubeObject[]): HoldUp | undefined {
  for (const pod of pods) {
    const found = pod.metadata.deletionTimestamp === undefined ? podHoldUp(pod) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function podHoldUp({ status }: KubeObject): HoldUp | undefined {
  if (!isJsonObject(status) || (status["phase"] !== "Pending" && status["phase"] !== "Running")) return undefined;
  const unplaced = objectsAt(status, "conditions").find(
    (condition) => condition["type"] === "PodScheduled" && condition["status"] === "False",
  );
  if (unplaced !== undefined) return holdUp(textAt(unplaced, "reason"), textAt(unplaced, "message"));
  for (const container of [...objectsAt(status, "initContainerStatuses"), ...objectsAt(status, "containerStatuses")]) {
    const waiting = objectAt(objectAt(container, "state"), "waiting");
    const reason = textAt(waiting, "reason");
    if (!ordinary.has(reason)) return holdUp(reason, textAt(waiting, "message"), lastEndOf(container));
  }
  return undefined;
}

const holdUp = (reason: string, message: string, last = ""): HoldUp => ({
  reason,
  message: `${message}${last}`,
  needsHelp: lasting.has(reason),
});

/** How the container ended before it began to wait: what a person wants to know of one that crashes again and again. */
function lastEndOf(container: JsonObject): string {
  const terminated = objectAt(objectAt(container, "lastState"), "terminated");
  const code = terminated["exitCode"];
  return typeof code === "number" ? `, exit code ${code}` : "";
}

// A status that a stranger wrote must not end a view: whatever has another shape counts as absent.

const objectAt = (object: JsonObject, name: string): JsonObject => {
  const value = object[name];
  return isJsonObject(value) ? value : {};
};
const textAt = (object: JsonObject, name: string): string => {
  const value = object[name];
  return typeof value === "string" ? value : "";
};
const objectsAt = (object: JsonObject, name: string): readonly JsonObject[] => {
  const value: JsonValue | undefined = object[name];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
};
