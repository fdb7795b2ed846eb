import type { JsonObject } from "#lib/base/index.ts";
import { isTrueAt, numberAt, objectAt, objectsAt, textAt } from "../kinds/read.ts";

/** A pod in one line, as `kubectl get` words it. */
export interface PodSummary {
  readonly status: string;
  readonly readyContainers: number;
  readonly totalContainers: number;
  readonly restarts: number;
  /** RFC 3339 time at which the last container that was restarted had ended. */
  readonly lastRestart: string | undefined;
}

/** What some containers of a pod add to its summary. `status` is absent when they have nothing to say. */
interface Part {
  readonly status: string | undefined;
  readonly ready: number;
  readonly restarts: number;
  readonly lastRestart: string | undefined;
}

const nothing: Part = { status: undefined, ready: 0, restarts: 0, lastRestart: undefined };
const later = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && Date.parse(b) > Date.parse(a)) ? b : a;
const lastEnd = (container: JsonObject): string | undefined =>
  textAt(container, "lastState", "terminated", "finishedAt");

/** Summarises a pod: the words are a public convention that scripts and people rely on. */
export function summarizePod(pod: JsonObject): PodSummary {
  const sidecars = sidecarNames(pod);
  const init = summarizeInit(pod, sidecars);
  const initializing = init.status !== undefined && !isConditionTrue(pod, "Initialized");
  const main = initializing ? nothing : summarizeMain(pod);
  const sidecarRestarts = restartsOf(
    objectsAt(pod, "status", "initContainerStatuses").filter((one) => isSidecar(one, sidecars)),
  );
  const before = initializing ? init : sidecarRestarts;
  return {
    status: statusText(pod, initializing ? init.status : (main.status ?? init.status)),
    readyContainers: init.ready + main.ready,
    totalContainers: objectsAt(pod, "spec", "containers").length + sidecars.size,
    restarts: before.restarts + main.restarts,
    lastRestart: later(before.lastRestart, main.lastRestart),
  };
}

function statusText(pod: JsonObject, byContainers: string | undefined): string {
  const phase = textAt(pod, "status", "phase") ?? "Unknown";
  const reason = textAt(pod, "status", "reason");
  if (textAt(pod, "metadata", "deletionTimestamp") !== undefined) {
    if (reason === "NodeLost") return "Unknown";
    if (phase !== "Succeeded" && phase !== "Failed") return "Terminating";
  }
  return byContainers ?? reason ?? phase;
}

const sidecarNames = (pod: JsonObject): ReadonlySet<string> =>
  new Set(
    objectsAt(pod, "spec", "initContainers")
      .filter((container) => textAt(container, "restartPolicy") === "Always")
      .map((container) => textAt(container, "name") ?? ""),
  );
const isSidecar = (status: JsonObject, sidecars: ReadonlySet<string>): boolean =>
  sidecars.has(textAt(status, "name") ?? "");

/** Init containers run in order: the first that is not done says where the pod stands. */
function summarizeInit(pod: JsonObject, sidecars: ReadonlySet<string>): Part {
  const statuses = objectsAt(pod, "status", "initContainerStatuses");
  const total = objectsAt(pod, "spec", "initContainers").length;
  let ready = 0;
  for (const [index, status] of statuses.entries()) {
    if (numberAt(status, "state", "terminated", "exitCode") === 0) continue;
    if (isSidecar(status, sidecars) && isTrueAt(status, "started")) {
      if (isTrueAt(status, "ready")) ready += 1;
      continue;
    }
    return { ...restartsOf(statuses.slice(0, index + 1)), ready, status: initStatus(status, index, total) };
  }
  return { ...restartsOf(statuses), ready };
}

function initStatus(status: JsonObject, index: number, total: number): string {
  const ended = endText(status);
  if (ended !== undefined) return `Init:${ended}`;
  const waiting = textAt(status, "state", "waiting", "reason");
  return waiting === undefined || waiting === "PodInitializing" ? `Init:${index}/${total}` : `Init:${waiting}`;
}

/** Why a container ended: its reason, else its signal or exit code. Undefined while it has not. */
function endText(status: JsonObject): string | undefined {
  const terminated = objectAt(status, "state", "terminated");
  if (terminated === undefined) return undefined;
  const signal = numberAt(terminated, "signal") ?? 0;
  return (
    textAt(terminated, "reason") ??
    (signal === 0 ? `ExitCode:${numberAt(terminated, "exitCode") ?? 0}` : `Signal:${signal}`)
  );
}

function summarizeMain(pod: JsonObject): Part {
  const statuses = objectsAt(pod, "status", "containerStatuses");
  const isRunning = (status: JsonObject) =>
    isTrueAt(status, "ready") && objectAt(status, "state", "running") !== undefined;
  const ready = statuses.filter((one) => wordOf(one) === undefined && isRunning(one)).length;
  // The first container that has something to say wins.
  const word = statuses.map(wordOf).find((text) => text !== undefined);
  const status = word === "Completed" && ready > 0 ? (isConditionTrue(pod, "Ready") ? "Running" : "NotReady") : word;
  return { ...restartsOf(statuses), ready, status };
}

const wordOf = (status: JsonObject): string | undefined =>
  textAt(status, "state", "waiting", "reason") ?? endText(status);

const restartsOf = (statuses: readonly JsonObject[]): Part => ({
  ...nothing,
  restarts: statuses.reduce((sum, status) => sum + (numberAt(status, "restartCount") ?? 0), 0),
  lastRestart: statuses.reduce<string | undefined>((last, status) => later(last, lastEnd(status)), undefined),
});

const isConditionTrue = (pod: JsonObject, type: string): boolean =>
  objectsAt(pod, "status", "conditions").some((one) => one["type"] === type && one["status"] === "True");
