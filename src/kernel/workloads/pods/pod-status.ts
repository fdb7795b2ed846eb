import { formatTime, type Instant } from "#lib/base/index.ts";
import { type Condition, withCondition } from "#kernel/kit/index.ts";
import { type ContainerStatus, type PodObject, type PodStatus, refusedCondition } from "../pod-types.ts";
import type { ContainerView } from "./container-view.ts";
import type { PodPlan } from "./plan-pod.ts";
import { taskId } from "./pod-paths.ts";

export interface StatusInput {
  readonly pod: PodObject;
  readonly views: readonly ContainerView[];
  readonly plan: PodPlan;
  readonly runtimeName: string;
  readonly address: string;
  /** When the pod runner took the pod; the time of its binding. */
  readonly acceptedAt: Instant;
  readonly now: Instant;
}

/** The status Kubernetes would show for these facts. Fields of others and their conditions are kept. */
export function podStatus(input: StatusInput): PodStatus {
  const { pod, views, plan, address } = input;
  const inits = views.filter(({ isInit }) => isInit).map((view) => containerStatus(view, input));
  const main = views.filter(({ isInit }) => !isInit).map((view) => containerStatus(view, input));
  const { reason: _reason, message: _message, ...kept } = pod.status ?? {};
  return {
    ...kept,
    phase: plan.phase,
    ...(plan.reason === undefined ? {} : { reason: plan.reason }),
    ...(plan.message === undefined ? {} : { message: plan.message }),
    conditions: conditions(input, inits, main),
    startTime: pod.status?.startTime ?? formatTime(input.acceptedAt),
    hostIP: address,
    hostIPs: [{ ip: address }],
    podIP: address,
    podIPs: [{ ip: address }],
    ...(inits.length === 0 ? {} : { initContainerStatuses: inits }),
    containerStatuses: main,
  };
}

function containerStatus(view: ContainerView, { pod, plan, runtimeName }: StatusInput): ContainerStatus {
  const { container, current, restart, previous, isInit } = view;
  const isRunning = current.kind === "running";
  const hasSucceeded = current.kind === "ended" && current.terminated.exitCode === 0;
  const id = `${runtimeName}://${taskId(pod.metadata.uid ?? "", container.name, restart)}`;
  const waiting = plan.waiting.get(container.name);
  const isWaiting = waiting !== undefined && !isRunning;
  // While a container waits for its restart, how it ended is the last state.
  const last = isWaiting && current.kind === "ended" ? current.terminated : previous;
  return {
    name: container.name,
    state: isWaiting ? { waiting } : stateOf(view),
    lastState: last === undefined ? {} : { terminated: last },
    ready: isInit ? hasSucceeded : isRunning,
    started: isRunning,
    restartCount: restart,
    image: container.image ?? "",
    imageID: "",
    ...(current.kind === "none" ? {} : { containerID: id }),
  };
}

function stateOf({ current }: ContainerView): ContainerStatus["state"] {
  switch (current.kind) {
    case "running":
      return { running: { startedAt: formatTime(current.startedAt) } };
    case "ended":
      return { terminated: current.terminated };
    case "none":
      return { waiting: { reason: "ContainerCreating" } };
  }
}

type Wanted = Omit<Condition, "lastTransitionTime">;

function conditions(
  input: StatusInput,
  inits: readonly ContainerStatus[],
  main: readonly ContainerStatus[],
): readonly Condition[] {
  const { pod, plan, now, acceptedAt } = input;
  const isOver = plan.phase === "Succeeded" || plan.phase === "Failed";
  const over = plan.phase === "Succeeded" ? "PodCompleted" : "PodFailed";
  const list = (names: readonly ContainerStatus[]) => `[${names.map(({ name }) => name).join(" ")}]`;
  const unready = main.filter(({ ready }) => !ready);
  const incomplete = inits.filter(({ ready }) => !ready);
  const hasStarted = [...inits, ...main].some(({ containerID }) => containerID !== undefined);
  const ready: Omit<Wanted, "type"> =
    unready.length === 0
      ? { status: "True" }
      : isOver
        ? { status: "False", reason: over }
        : {
            status: "False",
            reason: "ContainersNotReady",
            message: `containers with unready status: ${list(unready)}`,
          };
  const initialized: Omit<Wanted, "type"> =
    incomplete.length === 0
      ? { status: "True", ...(isOver && plan.phase === "Succeeded" ? { reason: over } : {}) }
      : {
          status: "False",
          reason: "ContainersNotInitialized",
          message: `containers with incomplete status: ${list(incomplete)}`,
        };
  const wanted: readonly Wanted[] = [
    { type: "PodReadyToStartContainers", status: isOver || !hasStarted ? "False" : "True" },
    { type: "Initialized", ...initialized },
    { type: "Ready", ...ready },
    { type: "ContainersReady", ...ready },
    ...(plan.reason === "UnsupportedPod"
      ? [{ type: refusedCondition, status: "True", reason: "UnsupportedPod", ...messageOf(plan) } as const]
      : []),
  ];
  const scheduled = withCondition(pod.status?.conditions ?? [], { type: "PodScheduled", status: "True" }, acceptedAt);
  return wanted.reduce((all, one) => withCondition(all, one, now), scheduled);
}

const messageOf = ({ message }: PodPlan) => (message === undefined ? {} : { message });
