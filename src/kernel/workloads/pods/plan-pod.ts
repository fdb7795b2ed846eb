import { type Instant, type Millis, parseInstant } from "#lib/base/index.ts";
import { isFinished, type PodObject, type PodPhase } from "../pod-types.ts";
import type { ContainerView } from "./container-view.ts";

// The rules of a pod's life, as a kubelet has them. One pass looks at the containers, asks for a plan, carries it out, and writes
// the status that follows; whatever happens in between is seen by the next pass.
//
//   pod                                     plan
//   ---                                     ----
//   finished                                stop what still runs, change nothing
//   deleted                                 stop everything within what is left of the grace, then Succeeded or Failed
//   refused, or its host is full            stop everything, Failed (UnsupportedPod, Evicted)
//   past its deadline                       stop everything within its grace, Failed (DeadlineExceeded)
//   an init container has not succeeded     that one starts, restarts or waits; the others wait for it
//   otherwise                               all containers, each by the restart policy

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
  /** By container name: its task cannot be made now. */
  readonly blocked: ReadonlyMap<string, Waiting>;
  /** By container name: restarts before this one count no more, because it ran long enough. */
  readonly calmSince: ReadonlyMap<string, number>;
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
  const plan = { ...advance(pod, views, obstacles, now), stop: unhealthy(pod, views, obstacles) };
  const overdue = deadlineOf(pod, obstacles.acceptedAt);
  if (overdue === undefined || isOverBefore(overdue, plan, views)) return plan;
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
const isOverBefore = (deadline: Instant, { phase }: PodPlan, views: readonly ContainerView[]): boolean =>
  (phase === "Succeeded" || phase === "Failed") &&
  views.every(({ current }) => current.kind === "none" || (current.kind === "ended" && current.at < deadline));

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
  const phase = running.length === 0 ? end.phase : (pod.status?.phase ?? "Running");
  return { ...end, phase, start: [], stop: running.map((view) => ({ view, grace })), waiting: new Map() };
}

/** `deletionTimestamp` is the end of the grace, not the time of the request. */
function terminating(pod: PodObject, views: readonly ContainerView[], now: Instant): PodPlan {
  const until = parseInstant(pod.metadata.deletionTimestamp ?? "") ?? now;
  const grace = pod.metadata.deletionGracePeriodSeconds === 0 ? 0 : Math.max(0, until - now);
  const main = views.filter(({ isInit }) => !isInit);
  const succeeded = main.every(({ current }) => current.kind === "ended" && current.terminated.exitCode === 0);
  return ending(pod, views, { phase: succeeded ? "Succeeded" : "Failed" }, grace);
}

/** What follows the end of a container. */
type Policy = "Always" | "OnFailure" | "Never";

/** For init containers Always means the same as OnFailure: one that has succeeded is never considered again. */
const policyOf = ({ spec }: PodObject): Policy => spec.restartPolicy ?? "Always";

const mustRestart = (policy: Policy, exitCode: number): boolean =>
  policy === "Always" || (policy === "OnFailure" && exitCode !== 0);

/** The ordinary way of a pod that nothing stands against. */
function advance(pod: PodObject, views: readonly ContainerView[], obstacles: Obstacles, now: Instant): PodPlan {
  const steps = new Steps(obstacles, now);
  const inits = views.filter(({ isInit }) => isInit);
  const main = views.filter(({ isInit }) => !isInit);
  const pending = inits.find(({ current }) => current.kind !== "ended" || current.terminated.exitCode !== 0);
  if (pending !== undefined && !main.some(hasRun)) {
    for (const { container } of [...inits.slice(inits.indexOf(pending) + 1), ...main]) {
      steps.waiting.set(container.name, { reason: "PodInitializing" });
    }
    return steps.plan(steps.consider(pending, policyOf(pod)) === "failed" ? "Failed" : "Pending");
  }
  const outcomes = main.map((view) => steps.consider(view, policyOf(pod)));
  if (outcomes.every((outcome) => outcome === "succeeded")) return steps.plan("Succeeded");
  if (outcomes.every((outcome) => outcome === "succeeded" || outcome === "failed")) return steps.plan("Failed");
  return steps.plan(main.some(hasRun) ? "Running" : "Pending");
}

/** Main containers start only after all init containers have succeeded, so one that has run proves that they did. */
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
    if (!mustRestart(policy, exitCode)) return exitCode === 0 ? "succeeded" : "failed";
    const inARow = restart + 1 - (this.#obstacles.calmSince.get(container.name) ?? 0);
    const at = current.at + (current.ranFor >= calmAfter ? 0 : backoffDelay(inARow));
    if (at <= this.#now) this.#run(view, restart + 1);
    else this.#wait(view, at, backoffDelay(inARow));
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

  #wait(view: ContainerView, at: Instant, delay: Millis): void {
    const message = `back-off ${Math.round(delay / 1000)}s restarting failed container=${view.container.name}`;
    this.waiting.set(view.container.name, { reason: "CrashLoopBackOff", message });
    this.#wakeAt = Math.min(at, this.#wakeAt ?? at);
  }
}
