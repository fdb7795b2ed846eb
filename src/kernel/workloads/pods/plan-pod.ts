import { type Instant, type Millis, parseInstant } from "#lib/base/index.ts";
import { isFinished, type PodObject, type PodPhase, type Terminated } from "../pod-types.ts";
import { type ContainerView, isSidecar } from "./container-view.ts";

// The rules of a pod's life, as a kubelet has them. One pass looks at the containers, asks for a plan, carries it out, and writes
// the status that follows; whatever happens in between is seen by the next pass.
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
// A sidecar is an init container that is restarted for ever. It is waited for until it has started, not until it has ended; it is asked
// to end only when all others have, the last one first; and what becomes of it is nobody's success or failure (KEP-753).

/** Why a container that should run does not. */
export interface Waiting {
  /** One of Kubernetes' words: ContainerCreating, PodInitializing, CrashLoopBackOff, CreateContainerConfigError, … */
  readonly reason: string;
  readonly message?: string;
}

/** What stands against running a pod or one of its containers. */
export interface Obstacles {
  /** When the pod runner took the pod; its deadline counts from here until the status says more. */
  readonly acceptedAt: Instant;
  /** The pod must not run here, for ever: what it asks for that its runtime cannot do. */
  readonly refused?: string;
  /** The machine has no room for the pod's files. Pods on a node under disk pressure are failed, not kept waiting. */
  readonly evicted?: string;
  /** What the pod takes cannot be had, for ever. */
  readonly lacking?: { readonly reason: string; readonly message: string };
  /** By container name: its task cannot be made now. */
  readonly blocked: ReadonlyMap<string, Waiting>;
  /** By container name: restarts before this one count no more, because it ran long enough. */
  readonly calmSince: ReadonlyMap<string, number>;
  /** Names of containers that run and have not started yet: a hook or a startup probe is not done. */
  readonly starting?: ReadonlySet<string>;
  /** By container name: it runs and must not, and why. By the restart policy it starts again. */
  readonly unhealthy?: ReadonlyMap<string, { readonly message: string; readonly graceMs?: Millis }>;
}

/** A container to start, and which of its executions this is, counted from 0. */
export interface Execution {
  readonly view: ContainerView;
  readonly restart: number;
}

/** What a pod needs next. `phase` and `reason` say how it stands after the present facts. */
export interface PodPlan {
  readonly phase: PodPhase;
  /** Of the pod as a whole; absent when its containers tell all there is to tell. */
  readonly reason?: string;
  readonly message?: string;
  readonly start: readonly Execution[];
  /** Running containers that must end, and how long they have for it. Asked for again in every plan until they have ended. */
  readonly stop: readonly { readonly view: ContainerView; readonly grace: Millis; readonly why?: string }[];
  /** By container name: those that do not run although they should, or will. */
  readonly waiting: ReadonlyMap<string, Waiting>;
  /** Look again then, even if nothing happens. */
  readonly wakeAt?: Instant;
}

const firstBackoff: Millis = 10_000;
const longestBackoff: Millis = 300_000;

/** A container that ran this long starts again without delay, and its earlier restarts are forgotten. */
export const calmAfter: Millis = 600_000;

/** Wait before the `restart`-th restart in a row: none, 10 s, 20 s, … 5 min. */
export const backoffDelay = (restart: number): Millis =>
  restart <= 1 ? 0 : Math.min(longestBackoff, firstBackoff * 2 ** Math.min(restart - 2, 10));

const defaultGraceSeconds = 30;

/**
 * Decides what happens to a pod, from its object and the state of its containers. Pure; O(containers). The same facts give the
 * same plan, so that a pass may be repeated after a crash: starting and stopping what was started or stopped changes nothing.
 */
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

/** Running containers whose probes or hooks demand their end. */
function unhealthy(pod: PodObject, views: readonly ContainerView[], obstacles: Obstacles): PodPlan["stop"] {
  return views.flatMap((view) => {
    const verdict = obstacles.unhealthy?.get(view.container.name);
    if (verdict === undefined || view.current.kind !== "running") return [];
    return [{ view, grace: verdict.graceMs ?? graceOf(pod), why: verdict.message }];
  });
}

/** Its containers ended in time, and only we come late to see it: after a restart of the server, for instance. */
const allEndedBefore = (deadline: Instant, views: readonly ContainerView[]): boolean =>
  views
    .filter((view) => !isSidecar(view))
    .every(({ current }) => current.kind === "none" || (current.kind === "ended" && current.at < deadline));

const reasonOf = ({ status }: PodObject) => ({
  ...(status?.reason === undefined ? {} : { reason: status.reason }),
  ...(status?.message === undefined ? {} : { message: status.message }),
});

/** Time to end politely when nobody has said otherwise in a deletion. */
const graceOf = ({ spec }: PodObject): Millis => 1000 * (spec.terminationGracePeriodSeconds ?? defaultGraceSeconds);

/** `activeDeadlineSeconds` counts from the stored start, which a restart of the server does not change. */
function deadlineOf({ spec, status }: PodObject, acceptedAt: Instant): Instant | undefined {
  if (spec.activeDeadlineSeconds === undefined) return undefined;
  return (parseInstant(status?.startTime ?? "") ?? acceptedAt) + 1000 * spec.activeDeadlineSeconds;
}

/** Nothing starts any more; what runs is stopped. The phase holds once nothing runs. */
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

/** Sidecars have this long at least, also where the others have used up the grace; Kubernetes gives it as well. */
const leastGrace: Millis = 2_000;

/** Sidecars serve the others to their end: they come last, and of several the last one first. Without grace nobody waits for anybody. */
function stopInTurn(running: readonly ContainerView[], grace: Millis): PodPlan["stop"] {
  const ordinary = running.filter((view) => !isSidecar(view));
  if (grace <= 0 || ordinary.length > 0) return (grace <= 0 ? running : ordinary).map((view) => ({ view, grace }));
  return running.slice(-1).map((view) => ({ view, grace: Math.max(leastGrace, grace) }));
}

/** `deletionTimestamp` is the end of the grace, not the time of the request. */
function terminating(pod: PodObject, views: readonly ContainerView[], now: Instant): PodPlan {
  const until = parseInstant(pod.metadata.deletionTimestamp ?? "") ?? now;
  const main = views.filter(({ isInit }) => !isInit);
  const ordinary = views.filter((view) => !isSidecar(view));
  const isForced = pod.metadata.deletionGracePeriodSeconds === 0;
  // The last moments are the sidecars' own: only they may still run after the grace.
  const least = ordinary.some(({ current }) => current.kind === "running") ? 0 : leastGrace;
  const succeeded = main.every(({ current }) => current.kind === "ended" && current.terminated.exitCode === 0);
  const grace = isForced ? 0 : Math.max(least, until - now);
  return ending(pod, views, { phase: succeeded ? "Succeeded" : "Failed" }, grace);
}

/** What follows the end of a container. */
type Policy = "Always" | "OnFailure" | "Never";

/** For init containers Always means the same as OnFailure. */
const policyOf = ({ spec }: PodObject): Policy => spec.restartPolicy ?? "Always";

const mustRestart = (policy: Policy, exitCode: number): boolean =>
  policy === "Always" || (policy === "OnFailure" && exitCode !== 0);

interface Going extends PodPlan {
  /** How the pod ends is known: at most sidecars still run. */
  readonly isDecided: boolean;
}

/** The ordinary way of a pod that nothing stands against. */
function advance(pod: PodObject, views: readonly ContainerView[], obstacles: Obstacles, now: Instant): Going {
  const steps = new Steps(obstacles, now);
  const initialized = initialize(pod, views, obstacles, steps);
  const end = (phase: PodPhase) => ({
    ...ending(pod, views, { phase }, graceOf(pod)),
    // Who never came to start says so; a sidecar that waits for its restart waits no more.
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

/**
 * Init containers in their order, up to the first one that is to be waited for. Whom a later container follows has been waited for
 * already: of those only sidecars still matter, which start again by themselves.
 */
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

/** Containers start in their order, so one that has run proves that those before it were waited for. */
const hasRun = ({ current, restart }: ContainerView): boolean => current.kind !== "none" || restart > 0;

/** Gathers what to do about each container. */
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
    // An init container that has succeeded is never considered again.
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

  /** A container that is blocked waits for what blocks it, without a back-off: nothing of it has run. */
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

/** Why a container that has ended does not run yet: it fails when it runs, or could not be run at all. */
function waitingFor(name: string, { reason, message = "" }: Terminated, delay: Millis): Waiting {
  if (reason === "ContainerCannotRun") return { reason: "RunContainerError", message };
  return {
    reason: "CrashLoopBackOff",
    message: `back-off ${Math.round(delay / 1000)}s restarting failed container=${name}`,
  };
}
