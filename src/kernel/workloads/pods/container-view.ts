import { formatTime, type Instant, type Millis, parseInstant } from "#lib/base/index.ts";
import { lostReason } from "#kernel/model/index.ts";
import type { TaskOutcome, TaskStatus } from "#kernel/runtimes/index.ts";
import type { Container, ContainerStatus, PodObject, Terminated } from "../pod-types.ts";
import { taskId } from "./pod-paths.ts";

export type Current =
  /** Nothing has run yet, or that is not known yet. */
  | { readonly kind: "none" }
  | { readonly kind: "running"; readonly startedAt: Instant; readonly taskId: string }
  /** `ranFor` is 0 if it never ran or was lost. */
  | { readonly kind: "ended"; readonly terminated: Terminated; readonly at: Instant; readonly ranFor: Millis };

export interface ContainerView {
  readonly container: Container;
  readonly isInit: boolean;
  readonly restart: number;
  readonly current: Current;
  /** Undefined for the first execution. */
  readonly previous: Terminated | undefined;
}

export const isSidecar = ({ isInit, container }: Pick<ContainerView, "isInit" | "container">): boolean =>
  isInit && container.restartPolicy === "Always";

/** What the pod runner knows besides the stored pod. */
export interface TaskFacts {
  readonly runtimeName: string;
  /** The runtime must be attached, or everything would look lost. */
  find(id: string): TaskStatus | undefined;
  messageOf(id: string): string | undefined;
}

/** A pod's containers, init ones first. The runtime's state wins; the stored one is for tasks it has forgotten. */
export function viewContainers(pod: PodObject, facts: TaskFacts, now: Instant): readonly ContainerView[] {
  const view = (isInit: boolean) => (container: Container) => viewContainer(pod, container, isInit, facts, now);
  return [...(pod.spec.initContainers ?? []).map(view(true)), ...pod.spec.containers.map(view(false))];
}

/** The number of the newest execution. The runtime may be ahead of the stored status. */
export function newestExecution(
  runtime: Pick<TaskFacts, "find">,
  uid: string,
  container: string,
  stored: ContainerStatus | undefined,
): number {
  let restart = stored?.restartCount ?? 0;
  while (runtime.find(taskId(uid, container, restart + 1)) !== undefined) restart++;
  return restart;
}

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
  const restart = newestExecution(facts, uid, container.name, stored);
  const task = facts.find(id(restart));
  return {
    container,
    isInit,
    restart,
    current: task === undefined ? currentOf(stored, restart, facts, now) : currentTask(task, facts),
    previous: previousOf(stored, restart, facts.find(id(restart - 1)), facts),
  };
}

/** Without a task only the stored status counts; a container it calls running is lost. */
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

/** From the runtime, else the stored last state, else the stored state of a status that is one restart behind. */
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

/** How Kubernetes describes the end of a container. A lost container gets the exit code of a kill, 137. */
export function terminatedBy(outcome: TaskOutcome, message: string | undefined, containerID: string): Terminated {
  const finishedAt = formatTime(outcome.finishedAt);
  switch (outcome.kind) {
    case "exited": {
      // Programs read messages, so that a note never stands beside one.
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
