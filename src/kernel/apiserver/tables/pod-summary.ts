import { type JsonObject, isTrueAt, numberAt, objectAt, objectsAt, textAt } from "#lib/base/index.ts";
import { mapMember, withMembers } from "#kernel/specs/index.ts";

export interface PodSummary {
  /** Such as `Running`, `CrashLoopBackOff`, `Init:1/2`, `Terminating`. */
  readonly status: string;
  /** Of containers and sidecars. */
  readonly readyContainers: number;
  readonly totalContainers: number;
  /** Of init containers during initialization, else of containers and sidecars. */
  readonly restarts: number;
  /** RFC 3339 end of the last restarted container. */
  readonly lastRestart: string | undefined;
}

/** `status` is absent when these containers do not determine it. */
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

/** Like kubectl's printer. Ignores waiting containers of an ended Pod, so that a refused Pod shows its reason. */
export function summarizePod(pod: JsonObject): PodSummary {
  const sidecars = sidecarNames(pod);
  const init = summarizeInit(pod, sidecars);
  const initializing = init.status !== undefined && !isConditionTrue(pod, "Initialized");
  const main = initializing ? nothing : summarizeMain(pod);
  const sidecarRestarts = restartsOf(
    objectsAt(pod, "status", "initContainerStatuses").filter((one) => isSidecar(one, sidecars)),
  );
  // As in kubectl, only sidecars' restarts count after initialization.
  const before = initializing ? init : sidecarRestarts;
  return {
    status: statusText(pod, initializing ? init.status : (main.status ?? init.status)),
    readyContainers: init.ready + main.ready,
    totalContainers: objectsAt(pod, "spec", "containers").length + sidecars.size,
    restarts: before.restarts + main.restarts,
    lastRestart: later(before.lastRestart, main.lastRestart),
  };
}

/** A deletion hides everything except an earlier end. */
function statusText(pod: JsonObject, byContainers: string | undefined): string {
  const phase = textAt(pod, "status", "phase") ?? "Unknown";
  const reason = isGated(pod) ? gated : textAt(pod, "status", "reason");
  if (textAt(pod, "metadata", "deletionTimestamp") !== undefined) {
    if (textAt(pod, "status", "reason") === "NodeLost") return "Unknown";
    if (!isOver(pod)) return "Terminating";
  }
  return byContainers ?? reason ?? phase;
}

/** KEP-3521. */
const gated = "SchedulingGated";
const isGated = (pod: JsonObject): boolean =>
  objectsAt(pod, "status", "conditions").some((one) => one["type"] === "PodScheduled" && one["reason"] === gated);

/** Init containers that restart always (KEP-753). */
const sidecarNames = (pod: JsonObject): ReadonlySet<string> =>
  new Set(
    objectsAt(pod, "spec", "initContainers")
      .filter((container) => textAt(container, "restartPolicy") === "Always")
      .map((container) => textAt(container, "name") ?? ""),
  );
const isSidecar = (status: JsonObject, sidecars: ReadonlySet<string>): boolean =>
  sidecars.has(textAt(status, "name") ?? "");

/** For an ended Pod without waiting states. */
function statusesOf(pod: JsonObject, member: "containerStatuses" | "initContainerStatuses"): readonly JsonObject[] {
  const statuses = objectsAt(pod, "status", member);
  if (!isOver(pod)) return statuses;
  return statuses.map((status) => mapMember(status, "state", (state) => withMembers(state, { waiting: undefined })));
}

const isOver = (pod: JsonObject): boolean => {
  const phase = textAt(pod, "status", "phase");
  return phase === "Succeeded" || phase === "Failed";
};

/** The first unfinished init container decides. */
function summarizeInit(pod: JsonObject, sidecars: ReadonlySet<string>): Part {
  const statuses = statusesOf(pod, "initContainerStatuses");
  const total = objectsAt(pod, "spec", "initContainers").length;
  let ready = 0;
  for (const [index, status] of statuses.entries()) {
    if (numberAt(status, "state", "terminated", "exitCode") === 0) continue;
    if (isSidecar(status, sidecars) && isTrueAt(status, "started")) {
      if (isTrueAt(status, "ready")) ready += 1;
      continue;
    }
    const stand = isOver(pod) && endText(status) === undefined ? undefined : initStatus(status, index, total);
    return { ...restartsOf(statuses.slice(0, index + 1)), ready, status: stand };
  }
  return { ...restartsOf(statuses), ready };
}

function initStatus(status: JsonObject, index: number, total: number): string {
  const ended = endText(status);
  if (ended !== undefined) return `Init:${ended}`;
  const waiting = textAt(status, "state", "waiting", "reason");
  return waiting === undefined || waiting === "PodInitializing" ? `Init:${index}/${total}` : `Init:${waiting}`;
}

/** Reason, signal or exit code; undefined while running. */
function endText(status: JsonObject): string | undefined {
  const terminated = objectAt(status, "state", "terminated");
  if (terminated === undefined) return undefined;
  const signal = numberAt(terminated, "signal") ?? 0;
  return (
    textAt(terminated, "reason") ??
    (signal === 0 ? `ExitCode:${numberAt(terminated, "exitCode") ?? 0}` : `Signal:${signal}`)
  );
}

/** With ended and running containers: Running when ready, else NotReady. */
function summarizeMain(pod: JsonObject): Part {
  const statuses = statusesOf(pod, "containerStatuses");
  const isRunning = (status: JsonObject) =>
    isTrueAt(status, "ready") && objectAt(status, "state", "running") !== undefined;
  const ready = statuses.filter((one) => wordOf(one) === undefined && isRunning(one)).length;
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
