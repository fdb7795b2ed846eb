import { type JsonObject, isTrueAt, numberAt, objectAt, objectsAt, textAt } from "#lib/base/index.ts";
import { mapMember, withMembers } from "#kernel/specs/index.ts";

/** A pod in one line, as `kubectl get` words it. */
export interface PodSummary {
  /** One word, such as `Running`, `CrashLoopBackOff`, `Init:1/2`, `Terminating`. Never empty. */
  readonly status: string;
  /** Containers and sidecars that run and are ready, of all of them; init containers that end do not count. */
  readonly readyContainers: number;
  readonly totalContainers: number;
  /** Of init containers while the Pod initializes, of containers and sidecars after that. */
  readonly restarts: number;
  /** RFC 3339 time at which the last container that was restarted had ended. */
  readonly lastRestart: string | undefined;
}

/**
 * What some containers of a Pod add to its summary. `status` is absent when they have nothing to say: all of them run, or nothing is
 * known of them yet.
 */
interface Part {
  readonly status: string | undefined;
  readonly ready: number;
  readonly restarts: number;
  readonly lastRestart: string | undefined;
}

/** What no containers add. */
const nothing: Part = { status: undefined, ready: 0, restarts: 0, lastRestart: undefined };
/** The later of two times, in whatever offsets they are written; undefined only when both are. */
const later = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && Date.parse(b) > Date.parse(a)) ? b : a;
const lastEnd = (container: JsonObject): string | undefined =>
  textAt(container, "lastState", "terminated", "finishedAt");

/**
 * Summarises a Pod in the words of kubectl's printer, a public convention that scripts and people rely on. The status is what the
 * containers say, else `status.reason`, else the phase. Of a Pod that is over, a container that waits says nothing: it never
 * ran and never will, so that a Pod refused by the runner shows its reason (`UnsupportedPod`) and not `ContainerCreating`.
 */
export function summarizePod(pod: JsonObject): PodSummary {
  const sidecars = sidecarNames(pod);
  const init = summarizeInit(pod, sidecars);
  const initializing = init.status !== undefined && !isConditionTrue(pod, "Initialized");
  const main = initializing ? nothing : summarizeMain(pod);
  const sidecarRestarts = restartsOf(
    objectsAt(pod, "status", "initContainerStatuses").filter((one) => isSidecar(one, sidecars)),
  );
  // Restarts of init containers that are done are history, as for kubectl; those of sidecars go on.
  const before = initializing ? init : sidecarRestarts;
  return {
    status: statusText(pod, initializing ? init.status : (main.status ?? init.status)),
    readyContainers: init.ready + main.ready,
    totalContainers: objectsAt(pod, "spec", "containers").length + sidecars.size,
    restarts: before.restarts + main.restarts,
    lastRestart: later(before.lastRestart, main.lastRestart),
  };
}

/** What stands in the Status column: deletion hides everything but an end that came before it. */
function statusText(pod: JsonObject, byContainers: string | undefined): string {
  const phase = textAt(pod, "status", "phase") ?? "Unknown";
  const reason = isGated(pod) ? gated : textAt(pod, "status", "reason");
  if (textAt(pod, "metadata", "deletionTimestamp") !== undefined) {
    if (textAt(pod, "status", "reason") === "NodeLost") return "Unknown";
    if (!isOver(pod)) return "Terminating";
  }
  return byContainers ?? reason ?? phase;
}

/** KEP-3521: nobody looks for a machine for the Pod until its gates are gone. */
const gated = "SchedulingGated";
const isGated = (pod: JsonObject): boolean =>
  objectsAt(pod, "status", "conditions").some((one) => one["type"] === "PodScheduled" && one["reason"] === gated);

/** Sidecars are init containers that restart always (KEP-753): started in order, then running beside the others. */
const sidecarNames = (pod: JsonObject): ReadonlySet<string> =>
  new Set(
    objectsAt(pod, "spec", "initContainers")
      .filter((container) => textAt(container, "restartPolicy") === "Always")
      .map((container) => textAt(container, "name") ?? ""),
  );
const isSidecar = (status: JsonObject, sidecars: ReadonlySet<string>): boolean =>
  sidecars.has(textAt(status, "name") ?? "");

/** The statuses of some containers; of a Pod that is over, without what they wait for. */
function statusesOf(pod: JsonObject, member: "containerStatuses" | "initContainerStatuses"): readonly JsonObject[] {
  const statuses = objectsAt(pod, "status", member);
  if (!isOver(pod)) return statuses;
  return statuses.map((status) => mapMember(status, "state", (state) => withMembers(state, { waiting: undefined })));
}

const isOver = (pod: JsonObject): boolean => {
  const phase = textAt(pod, "status", "phase");
  return phase === "Succeeded" || phase === "Failed";
};

/** Init containers run in order: the first that is not done says where the pod stands. */
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

/** `Init:Error`, `Init:CrashLoopBackOff`, or how many are done: `Init:1/2`. */
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

/** A Pod of which some containers are done and others run is Running when it is ready, else NotReady. */
function summarizeMain(pod: JsonObject): Part {
  const statuses = statusesOf(pod, "containerStatuses");
  const isRunning = (status: JsonObject) =>
    isTrueAt(status, "ready") && objectAt(status, "state", "running") !== undefined;
  const ready = statuses.filter((one) => wordOf(one) === undefined && isRunning(one)).length;
  // The first container that has something to say wins.
  const word = statuses.map(wordOf).find((text) => text !== undefined);
  const status = word === "Completed" && ready > 0 ? (isConditionTrue(pod, "Ready") ? "Running" : "NotReady") : word;
  return { ...restartsOf(statuses), ready, status };
}

/** Why a container waits or how it ended; a running one has nothing to say. */
const wordOf = (status: JsonObject): string | undefined =>
  textAt(status, "state", "waiting", "reason") ?? endText(status);

/** The sum of restarts, and when the last of these containers ended before it was started again. */
const restartsOf = (statuses: readonly JsonObject[]): Part => ({
  ...nothing,
  restarts: statuses.reduce((sum, status) => sum + (numberAt(status, "restartCount") ?? 0), 0),
  lastRestart: statuses.reduce<string | undefined>((last, status) => later(last, lastEnd(status)), undefined),
});

const isConditionTrue = (pod: JsonObject, type: string): boolean =>
  objectsAt(pod, "status", "conditions").some((one) => one["type"] === type && one["status"] === "True");
