import { type Instant, isJsonObject, type JsonObject, type JsonValue, parseInstant } from "#lib/base/index.ts";
import { asJson, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { StepStatus } from "../../results/build-document.ts";

export interface PodState {
  /** pending: no build yet. running: `app` runs. ended: nothing will run. stuck: cannot start without help. */
  readonly phase: "pending" | "running" | "ended" | "stuck";
  readonly status: StepStatus | "Unknown";
  readonly message?: string | undefined;
  readonly finishedAt?: Instant | undefined;
}

/** Waiting reasons that do not resolve by themselves. */
const stuckReasons: ReadonlySet<string> = new Set([
  "CreateContainerConfigError",
  "CreateContainerError",
  "ErrImageNeverPull",
  "ErrImagePull",
  "ImageInspectError",
  "ImagePullBackOff",
  "InvalidImageName",
  "RegistryUnavailable",
]);

/** Registries and missing objects get this long. */
const stuckAfterMs = 60_000;

export function podState(pod: Stored, now: Instant): PodState {
  const status = objectIn(asJson(pod)["status"]);
  const phase = textIn(status, "phase");
  const containers = [...listIn(status, "initContainerStatuses"), ...listIn(status, "containerStatuses")];
  if (phase === "Succeeded" || phase === "Failed") return endOf(status, phase, containers);
  const waiting = containers.map((container) => ({
    name: textIn(container, "name"),
    ...wordsOf(objectIn(objectIn(container["state"])["waiting"])),
  }));
  const held = waiting.find(({ reason }) => stuckReasons.has(reason));
  const message = held === undefined ? unscheduled(status) : `${held.name}: ${held.reason}${behind(held.message)}`;
  const created = parseInstant(pod.metadata.creationTimestamp) ?? now;
  if (held !== undefined && now - created >= stuckAfterMs)
    return { phase: "stuck", status: "Failed", message, finishedAt: created + stuckAfterMs };
  const runs = (list: string): boolean =>
    listIn(status, list).some((container) => isJsonObject(objectIn(container["state"])["running"]));
  if (phase === "Running" && runs("containerStatuses")) return { phase: "running", status: "Running" };
  if (runs("initContainerStatuses")) return { phase: "pending", status: "Initializing", message };
  return { phase: "pending", status: phase === "" || phase === "Pending" ? "Scheduling" : "Unknown", message };
}

/** The Pod's own reason precedes the first failed container's. */
function endOf(status: JsonObject, phase: string, containers: readonly JsonObject[]): PodState {
  const ends = containers.flatMap((container) => {
    const end = objectIn(container["state"])["terminated"];
    return isJsonObject(end) ? [{ name: textIn(container, "name"), end }] : [];
  });
  const failed = ends.find(({ end }) => end["exitCode"] !== 0);
  const times = ends.map(({ end }) => parseInstant(textIn(end, "finishedAt")) ?? 0);
  const own = wordsOf(status);
  const why =
    own.reason !== "" || own.message !== ""
      ? `${own.reason}${behind(own.message)}`
      : failed === undefined
        ? undefined
        : `${failed.name} has ended with ${endWords(failed.end)}`;
  const finishedAt = Math.max(0, ...times) || undefined;
  return { phase: "ended", status: phase === "Failed" ? "Failed" : "Success", message: why, finishedAt };
}

function endWords(end: JsonObject): string {
  const { reason, message } = wordsOf(end);
  const code = `exit code ${Number(end["exitCode"] ?? 0)}`;
  const named = reason === "" || reason === "Error" ? code : `${code} (${reason})`;
  return `${named}${behind(message)}`;
}

function unscheduled(status: JsonObject): string | undefined {
  const found = listIn(status, "conditions").find(
    (condition) => textIn(condition, "type") === "PodScheduled" && textIn(condition, "status") === "False",
  );
  if (found === undefined) return undefined;
  const { reason, message } = wordsOf(found);
  return `${reason}${behind(message)}`;
}

const behind = (message: string): string => (message === "" ? "" : `: ${message}`);
const wordsOf = (object: JsonObject) => ({ reason: textIn(object, "reason"), message: textIn(object, "message") });
const objectIn = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});
const listIn = (object: JsonObject, name: string): readonly JsonObject[] => {
  const value = object[name];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
};
const textIn = (object: JsonObject, name: string): string => {
  const value = object[name];
  return typeof value === "string" ? value : "";
};

export const isLeaving = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;
