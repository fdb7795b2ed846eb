import { formatTime, type Instant, type Millis, parseInstant } from "#lib/base/index.ts";
import { lostReason } from "#kernel/model/index.ts";
import type { TaskOutcome, TaskStatus } from "#kernel/runtimes/index.ts";
import type { Container, ContainerStatus, PodObject, Terminated } from "../pod-types.ts";
import { taskId } from "./pod-paths.ts";

/** What is known of a container's newest execution. */
export type Current =
  /** Nothing of it has run yet, or nobody knows yet whether it does. */
  | { readonly kind: "none" }
  | { readonly kind: "running"; readonly startedAt: Instant; readonly taskId: string }
  /** `ranFor` is 0 for what never ran or was lost. */
  | { readonly kind: "ended"; readonly terminated: Terminated; readonly at: Instant; readonly ranFor: Millis };

/** One container as it stands: its present execution and the one before it. */
export interface ContainerView {
  readonly container: Container;
  readonly isInit: boolean;
  /** Number of the present execution, counted from 0. */
  readonly restart: number;
  readonly current: Current;
  /** How the execution before it ended; undefined for the first one. */
  readonly previous: Terminated | undefined;
}

/** An init container that runs beside the others, and is never waited for to end. */
export const isSidecar = ({ isInit, container }: Pick<ContainerView, "isInit" | "container">): boolean =>
  isInit && container.restartPolicy === "Always";

/** What the pod runner knows besides the stored pod. All lookups are without waiting. */
export interface TaskFacts {
  readonly runtimeName: string;
  /** The runtime's status of a task; the runtime must be attached, or everything would look lost. */
  find(id: string): TaskStatus | undefined;
  /** What a task that has ended left as its termination message. */
  messageOf(id: string): string | undefined;
}

/**
 * All containers of a pod, init containers first, in their order. The runtime's word counts more than the stored status, which may
 * be older; a stored status counts where the runtime has forgotten: tasks of a pod that has ended are removed.
 */
export function viewContainers(pod: PodObject, facts: TaskFacts, now: Instant): readonly ContainerView[] {
  const view = (isInit: boolean) => (container: Container) => viewContainer(pod, container, isInit, facts, now);
  return [...(pod.spec.initContainers ?? []).map(view(true)), ...pod.spec.containers.map(view(false))];
}

/** A gap in the executions cannot be: each is started after the one before it has ended. */
function viewContainer(
  pod: PodObject,
  container: Container,
  isInit: boolean,
  facts: TaskFacts,
  now: Instant,
): ContainerView {
  const uid = pod.metadata.uid ?? "";
  const statuses = isInit ? pod.status?.initContainerStatuses : pod.status?.containerStatuses;
  const stored = statuses?.find(({ name }) => name === container.name);
  const id = (restart: number) => taskId(uid, container.name, restart);
  let restart = stored?.restartCount ?? 0;
  // The runtime may be ahead of what was written before a crash.
  while (facts.find(id(restart + 1)) !== undefined) restart++;
  const task = facts.find(id(restart));
  return {
    container,
    isInit,
    restart,
    current: task === undefined ? currentOf(stored, restart, facts, now) : currentTask(task, facts),
    previous: previousOf(stored, restart, facts.find(id(restart - 1)), facts),
  };
}

/** Without a task only the stored status speaks. What it calls running is not known to anybody any more. */
function currentOf(stored: ContainerStatus | undefined, restart: number, facts: TaskFacts, now: Instant): Current {
  if (stored === undefined || stored.restartCount !== restart) return { kind: "none" };
  const { terminated, running } = stored.state;
  if (terminated !== undefined) {
    const at = parseInstant(terminated.finishedAt ?? "") ?? now;
    return { kind: "ended", terminated, at, ranFor: at - (parseInstant(terminated.startedAt ?? "") ?? at) };
  }
  if (running === undefined) return { kind: "none" };
  const message = `the ${facts.runtimeName} runtime has no record of it any more`;
  const lost = {
    exitCode: 137,
    reason: lostReason,
    message,
    startedAt: running.startedAt,
    finishedAt: formatTime(now),
  };
  return { kind: "ended", terminated: lost, at: now, ranFor: 0 };
}

function currentTask(task: TaskStatus, facts: TaskFacts): Current {
  const { state, id } = task;
  switch (state.phase) {
    case "starting":
      return { kind: "none" };
    case "running":
      return { kind: "running", startedAt: state.startedAt, taskId: id };
    case "ended": {
      const terminated = terminatedBy(state.outcome, facts.messageOf(id), `${facts.runtimeName}://${id}`);
      const startedAt = "startedAt" in state.outcome ? state.outcome.startedAt : undefined;
      const at = state.outcome.finishedAt;
      return { kind: "ended", terminated, at, ranFor: at - (startedAt ?? at) };
    }
  }
}

/** Three sources, the surest first: the runtime, the stored last state, the stored state of a status that is one restart behind. */
function previousOf(
  stored: ContainerStatus | undefined,
  restart: number,
  task: TaskStatus | undefined,
  facts: TaskFacts,
): Terminated | undefined {
  if (task?.state.phase === "ended") {
    return terminatedBy(task.state.outcome, facts.messageOf(task.id), `${facts.runtimeName}://${task.id}`);
  }
  if (stored?.restartCount === restart) return stored.lastState.terminated;
  return stored?.restartCount === restart - 1 ? stored.state.terminated : undefined;
}

/**
 * How Kubernetes writes down the end of a container. `message` is its termination message. A lost container has the code of a
 * kill, 137, because it is certain only that it does not run any more.
 */
export function terminatedBy(outcome: TaskOutcome, message: string | undefined, containerID: string): Terminated {
  const finishedAt = formatTime(outcome.finishedAt);
  switch (outcome.kind) {
    case "exited": {
      // A note never stands beside a message, which programs read.
      const text = message || (outcome.code === 0 ? "" : (outcome.note ?? ""));
      return {
        exitCode: outcome.code,
        reason: outcome.outOfMemory === true ? "OOMKilled" : outcome.code === 0 ? "Completed" : "Error",
        ...(text === "" ? {} : { message: text }),
        startedAt: formatTime(outcome.startedAt),
        finishedAt,
        containerID,
      };
    }
    case "not-started":
      return {
        exitCode: outcome.code,
        reason: "ContainerCannotRun",
        message: outcome.message,
        startedAt: finishedAt,
        finishedAt,
        containerID,
      };
    case "lost":
      return {
        exitCode: 137,
        reason: lostReason,
        message: outcome.message,
        startedAt: outcome.startedAt === undefined ? finishedAt : formatTime(outcome.startedAt),
        finishedAt,
        containerID,
      };
  }
}
