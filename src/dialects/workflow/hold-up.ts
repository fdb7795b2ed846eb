import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { HoldUp } from "#engine/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";

// Browser-safe: the web interface uses it.

/** The Pod is starting normally. */
const ordinary: ReadonlySet<string> = new Set(["", "ContainerCreating", "PodInitializing"]);

/** Retrying does not help: the Pod names something missing or wrong. */
const lasting: ReadonlySet<string> = new Set([
  "Unschedulable",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
  "InvalidImageName",
  "ErrImageNeverPull",
]);

/** Why a Pod of the attempt does not run, in the runtime's words. Undefined if none is held up. */
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

/** The last exit of a crashing container. */
function lastEndOf(container: JsonObject): string {
  const terminated = objectAt(objectAt(container, "lastState"), "terminated");
  const code = terminated["exitCode"];
  return typeof code === "number" ? `, exit code ${code}` : "";
}

// Foreign statuses must not break a view: malformed values count as absent.

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
