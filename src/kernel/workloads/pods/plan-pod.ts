import { type Instant, type Millis, parseInstant } from "#lib/base/index.ts";
import { isFinished, type PodObject, type PodPhase, type Terminated } from "../pod-types.ts";
import { type ContainerView, isSidecar } from "./container-view.ts";

// The rules of a pod's life, as a kubelet has them. One pass looks at the containers, asks for a plan, carries it out,
// and writes the status that follows; whatever happens in between is seen by the next pass.
//
//   pod                                     plan
//   ---                                     ----
//   finished                                stop what still runs, change nothing
//   deleted                                 stop everything within what is left of the grace, then Succeeded or Failed
//   refused, or its host is full            stop everything, Failed (UnsupportedPod, Evicted)
//   lacking what it takes                   stop everything, Failed (ArtifactMissing, …)
//   past its deadline                       stop everything within its grace, Failed (DeadlineExceeded)
//   an init container has not succeeded     that one starts, restarts or waits; those after it wait
//   otherwise                               all containers, each by the restart policy
//
// A sidecar is an init container that is restarted for ever. It is waited for until it has started, not until it has
// ended; it is asked to end only when all others have, the last one first; and what becomes of it is nobody's success
// or failure (KEP-753).

export interface Waiting {
  /** Kubernetes' word: ContainerCreating, CrashLoopBackOff, … */
  readonly reason: string;
  readonly message?: string;
}

/** What keeps a pod or one of its containers from running. */
export interface Obstacles {
  /** The deadline counts from here until the status has a start. */
  readonly acceptedAt: Instant;
  /** The runtime cannot do what the pod asks for. */
  readonly refused?: string;
  /** The machine's disk is full: such Pods fail. */
  readonly evicted?: string;
  /** Its artifacts do not exist. */
  readonly lacking?: { readonly reason: string; readonly message: string };
  /** By container: why its task cannot be made now. */
  readonly blocked: ReadonlyMap<string, Waiting>;
  /** By container: earlier restarts do not count, because it ran long enough. */
  readonly calmSince: ReadonlyMap<string, number>;
  /** Running containers whose hook or startup probe is not done. */
  readonly starting?: ReadonlySet<string>;
  /** By container: why it must be stopped; the restart policy applies. */
  readonly unhealthy?: ReadonlyMap<string, { readonly message: string; readonly graceMs?: Millis }>;
}

export interface Execution {
  readonly view: ContainerView;
  readonly restart: number;
}

export interface PodPlan {
  readonly phase: PodPhase;
  /** Absent if the containers say everything. */
  readonly reason?: string;
  readonly message?: string;
  readonly start: readonly Execution[];
  /** Repeated in every plan until they have ended. */
  readonly stop: readonly { readonly view: ContainerView; readonly grace: Millis; readonly why?: string }[];
  /** Containers that should run, or will, and do not. */
  readonly waiting: ReadonlyMap<string, Waiting>;
  readonly wakeAt?: Instant;
}

const firstBackoff: Millis = 10_000;
const longestBackoff: Millis = 300_000;

/** A container that ran this long restarts without delay, and its earlier restarts are forgotten. */
export const calmAfter: Millis = 600_000;

export const backoffDelay = (restart: number): Millis =>
  restart <= 1 ? 0 : Math.min(longestBackoff, firstBackoff * 2 ** Math.min(restart - 2, 10));

const defaultGraceSeconds = 30;

/** Decides what happens to a pod. Pure; O(containers). The same facts give the same plan. */
export function planPod(pod: PodObject, views: readonly ContainerView[], obstacles: Obstacles, now: Instant): PodPlan {
  if (isFinished(pod)) return ending(pod, views, { phase: pod.status?.phase ?? "Failed", ...reasonOf(pod) }, 0);
  if (pod.metadata.deletionTimestamp !== undefined) return terminating(pod, views, now);
  if (obstacles.refused !== undefined) {
    return ending(pod, views, { phase: "Failed", reason: "UnsupportedPod", message: obstacles.refused }, 0);
  }
  if (obstacles.evicted !== undefined) {
    return ending(pod, views, { phase: "Failed", reason: "Evicted", message: obstacles.evicted }, graceOf(pod));
  }
  if (obstacles.lacking !== undefined)
    return ending(pod, views, { phase: "Failed", ...obstacles.lacking }, graceOf(pod));
  const { isDecided, ...going } = advance(pod, views, obstacles, now);
  const plan = { ...going, stop: [...going.stop, ...unhealthy(pod, views, obstacles)] };
  const overdue = deadlineOf(pod, obstacles.acceptedAt);
  if (overdue === undefined || (isDecided && allEndedBefore(overdue, views))) return plan;
  if (overdue <= now) {
    const message = "Pod was active on the node longer than the specified deadline";
    return ending(pod, views, { phase: "Failed", reason: "DeadlineExceeded", message }, graceOf(pod));
  }
  return { ...plan, wakeAt: Math.min(overdue, plan.wakeAt ?? overdue) };
}

function unhealthy(pod: PodObject, views: readonly ContainerView[], obstacles: Obstacles): PodPlan["stop"] {
  return views.flatMap((view) => {
    const verdict = obstacles.unhealthy?.get(view.container.name);
    if (verdict === undefined || view.current.kind !== "running") return [];
    return [{ view, grace: verdict.graceMs ?? graceOf(pod), why: verdict.message }];
  });
}

/** The containers ended in time, and only this pass is late. */
const allEndedBefore = (deadline: Instant, views: readonly ContainerView[]): boolean =>
  views
    .filter((view) => !isSidecar(view))
    .every(({ current }) => current.kind === "none" || (current.kind === "ended" && current.at < deadline));

const reasonOf = ({ status }: PodObject) => ({
  ...(status?.reason === undefined ? {} : { reason: status.reason }),
  ...(status?.message === undefined ? {} : { message: status.message }),
});

const graceOf = ({ spec }: PodObject): Millis => 1000 * (spec.terminationGracePeriodSeconds ?? defaultGraceSeconds);

function deadlineOf({ spec, status }: PodObject, acceptedAt: Instant): Instant | undefined {
  if (spec.activeDeadlineSeconds === undefined) return undefined;
  return (parseInstant(status?.startTime ?? "") ?? acceptedAt) + 1000 * spec.activeDeadlineSeconds;
}

/** Nothing starts any more, and running containers are stopped. The phase holds once nothing runs. */
function ending(
  pod: PodObject,
  views: readonly ContainerView[],
  end: Pick<PodPlan, "phase" | "reason" | "message">,
  grace: Millis,
): PodPlan {
  const running = views.filter(({ current }) => current.kind === "running");
  const phase = running.length === 0 || isFinished(pod) ? end.phase : holdingPhase(pod, views);
  return { ...end, phase, start: [], stop: stopInTurn(running, grace), waiting: new Map() };
}

const holdingPhase = ({ status }: PodObject, views: readonly ContainerView[]): PodPhase =>
  views.some((view) => !view.isInit && hasRun(view)) ? "Running" : (status?.phase ?? "Pending");

/** As in Kubernetes, even if the others have used up the grace. */
const leastGrace: Millis = 2_000;

/** Sidecars are stopped after the others, the last one first; without grace all are stopped at once. */
function stopInTurn(running: readonly ContainerView[], grace: Millis): PodPlan["stop"] {
  const ordinary = running.filter((view) => !isSidecar(view));
  if (grace <= 0 || ordinary.length > 0) return (grace <= 0 ? running : ordinary).map((view) => ({ view, grace }));
  return running.slice(-1).map((view) => ({ view, grace: Math.max(leastGrace, grace) }));
}

/** `deletionTimestamp` is the end of the grace. */
function terminating(pod: PodObject, views: readonly ContainerView[], now: Instant): PodPlan {
  const until = parseInstant(pod.metadata.deletionTimestamp ?? "") ?? now;
  const main = views.filter(({ isInit }) => !isInit);
  const ordinary = views.filter((view) => !isSidecar(view));
  const isForced = pod.metadata.deletionGracePeriodSeconds === 0;
  // Only sidecars may still run after the grace.
  const least = ordinary.some(({ current }) => current.kind === "running") ? 0 : leastGrace;
  const succeeded = main.every(({ current }) => current.kind === "ended" && current.terminated.exitCode === 0);
  const grace = isForced ? 0 : Math.max(least, until - now);
  return ending(pod, views, { phase: succeeded ? "Succeeded" : "Failed" }, grace);
}

type Policy = "Always" | "OnFailure" | "Never";

const policyOf = ({ spec }: PodObject): Policy => spec.restartPolicy ?? "Always";

const mustRestart = (policy: Policy, exitCode: number): boolean =>
  policy === "Always" || (policy === "OnFailure" && exitCode !== 0);

interface Going extends PodPlan {
  /** The pod's outcome is known; at most sidecars still run. */
  readonly isDecided: boolean;
}

function advance(pod: PodObject, views: readonly ContainerView[], obstacles: Obstacles, now: Instant): Going {
  const steps = new Steps(obstacles, now);
  const initialized = initialize(pod, views, obstacles, steps);
  const end = (phase: PodPhase) => ({
    ...ending(pod, views, { phase }, graceOf(pod)),
    // A sidecar that waits for its restart is not reported.
    waiting: new Map([...steps.waiting].filter(([, { reason }]) => reason === "PodInitializing")),
    isDecided: true,
  });
  if (initialized === "failed") return end("Failed");
  if (initialized === "open") return { ...steps.plan("Pending"), isDecided: false };
  const main = views.filter(({ isInit }) => !isInit);
  const outcomes = main.map((view) => steps.consider(view, policyOf(pod)));
  if (outcomes.includes("open")) return { ...steps.plan(main.some(hasRun) ? "Running" : "Pending"), isDecided: false };
  return end(outcomes.includes("failed") ? "Failed" : "Succeeded");
}

/** Init containers up to the first to wait for. If a later container has run, only sidecars before it matter. */
function initialize(
  pod: PodObject,
  views: readonly ContainerView[],
  { starting }: Obstacles,
  steps: Steps,
): "succeeded" | "failed" | "open" {
  const reached = views.findLastIndex(hasRun);
  for (const [index, view] of views.entries()) {
    if (!view.isInit) break;
    if (index < reached && !isSidecar(view)) continue;
    const outcome = steps.consider(view, isSidecar(view) ? "Always" : policyOf(pod));
    const hasStarted = view.current.kind === "running" && starting?.has(view.container.name) !== true;
    if (outcome === "succeeded" || index < reached || (isSidecar(view) && hasStarted)) continue;
    for (const { container } of views.slice(index + 1)) {
      steps.waiting.set(container.name, { reason: "PodInitializing" });
    }
    return outcome;
  }
  return "succeeded";
}

/** Containers start in order, so that one that has run proves that those before it were ready. */
const hasRun = ({ current, restart }: ContainerView): boolean => current.kind !== "none" || restart > 0;

class Steps {
  readonly waiting = new Map<string, Waiting>();
  readonly #start: Execution[] = [];
  readonly #obstacles: Obstacles;
  readonly #now: Instant;
  #wakeAt: Instant | undefined;

  constructor(obstacles: Obstacles, now: Instant) {
    this.#obstacles = obstacles;
    this.#now = now;
  }

  /** `open`: it runs, will run, or waits. */
  consider(view: ContainerView, policy: Policy): "open" | "succeeded" | "failed" {
    const { current, container, restart } = view;
    if (current.kind === "running") return "open";
    if (current.kind === "none") {
      this.#run(view, restart);
      return "open";
    }
    const { exitCode } = current.terminated;
    // An init container that has succeeded is not considered again.
    if (view.isInit && !isSidecar(view) && exitCode === 0) return "succeeded";
    if (!mustRestart(policy, exitCode)) return exitCode === 0 ? "succeeded" : "failed";
    const inARow = restart + 1 - (this.#obstacles.calmSince.get(container.name) ?? 0);
    const at = current.at + (current.ranFor >= calmAfter ? 0 : backoffDelay(inARow));
    if (at <= this.#now) this.#run(view, restart + 1);
    else this.#wait(view, at, waitingFor(container.name, current.terminated, backoffDelay(inARow)));
    return "open";
  }

  plan(phase: PodPhase): PodPlan {
    const wake = this.#wakeAt === undefined ? {} : { wakeAt: this.#wakeAt };
    return { phase, start: this.#start, stop: [], waiting: this.waiting, ...wake };
  }

  /** A blocked container waits without backoff: nothing of it has run. */
  #run(view: ContainerView, restart: number): void {
    const blocked = this.#obstacles.blocked.get(view.container.name);
    if (blocked === undefined) this.#start.push({ view, restart });
    this.waiting.set(view.container.name, blocked ?? { reason: "ContainerCreating" });
  }

  #wait(view: ContainerView, at: Instant, reason: Waiting): void {
    this.waiting.set(view.container.name, reason);
    this.#wakeAt = Math.min(at, this.#wakeAt ?? at);
  }
}

function waitingFor(name: string, { reason, message = "" }: Terminated, delay: Millis): Waiting {
  if (reason === "ContainerCannotRun") return { reason: "RunContainerError", message };
  return {
    reason: "CrashLoopBackOff",
    message: `back-off ${Math.round(delay / 1000)}s restarting failed container=${name}`,
  };
}
