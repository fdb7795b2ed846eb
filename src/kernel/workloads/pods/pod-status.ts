import { formatTime, type Instant } from "#lib/base/index.ts";
import { type Condition, withCondition } from "#kernel/kit/index.ts";
import { type ContainerStatus, type PodObject, type PodStatus, refusedCondition } from "../pod-types.ts";
import { type ContainerView, isSidecar } from "./container-view.ts";
import { type Health, plainHealth } from "./health-keeper.ts";
import type { PodPlan } from "./plan-pod.ts";
import { taskId } from "./pod-paths.ts";
import { processAddress } from "./process-address.ts";

export interface StatusInput {
  readonly pod: PodObject;
  readonly views: readonly ContainerView[];
  readonly plan: PodPlan;
  readonly runtimeName: string;
  readonly address: string;
  readonly healthOf: (task: string) => Health;
  /** Present if tasks are containers. */
  readonly containers?: ContainerFacts;
  readonly acceptedAt: Instant;
  readonly now: Instant;
}

export interface ContainerFacts {
  readonly podAddress: string | undefined;
  readonly imageIdOf: (container: string) => string | undefined;
}

/** The status Kubernetes would show. Pure. Keeps others' fields and the times of unchanged parts. */
export function podStatus(input: StatusInput): PodStatus {
  const { pod, views, plan, address } = input;
  const podAddress = input.containers === undefined ? processAddress(pod, address) : input.containers.podAddress;
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
    ...(podAddress === undefined ? {} : { podIP: podAddress, podIPs: [{ ip: podAddress }] }),
    ...(inits.length === 0 ? {} : { initContainerStatuses: inits.filter((one) => isWorthTelling(one, plan)) }),
    containerStatuses: main.filter((one) => isWorthTelling(one, plan)),
  };
}

/** In a pod that is over, `ContainerCreating` would say that it is still being worked on. */
const isWorthTelling = ({ name, containerID }: ContainerStatus, { phase, waiting }: PodPlan): boolean =>
  (phase !== "Failed" && phase !== "Succeeded") || containerID !== undefined || waiting.has(name);

/** `imageID` is empty where no image was used. */
function containerStatus(view: ContainerView, input: StatusInput): ContainerStatus {
  const { pod, plan, runtimeName, containers, healthOf } = input;
  const { container, current, restart, previous, isInit } = view;
  const isRunning = current.kind === "running";
  const health = isRunning ? healthOf(current.taskId) : plainHealth;
  const hasSucceeded = current.kind === "ended" && current.terminated.exitCode === 0;
  const id = `${runtimeName}://${taskId(pod.metadata.uid ?? "", container.name, restart)}`;
  const waiting = plan.waiting.get(container.name);
  const isWaiting = waiting !== undefined && !isRunning;
  // While a container waits for its restart, its end is the last state.
  const statuses = isInit ? pod.status?.initContainerStatuses : pod.status?.containerStatuses;
  const stored = statuses?.find(({ name }) => name === container.name);
  const last = isWaiting && current.kind === "ended" ? current.terminated : previous;
  return {
    name: container.name,
    state: isWaiting ? { waiting } : stateOf(view),
    lastState: last === undefined ? {} : { terminated: last },
    ready: isInit && !isSidecar(view) ? hasSucceeded : isRunning && health.ready,
    started: isRunning && health.started,
    restartCount: restart,
    image: container.image ?? "",
    imageID: containers?.imageIdOf(container.name) ?? stored?.imageID ?? "",
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
  const sidecars = new Set(input.views.filter(isSidecar).map(({ container }) => container.name));
  const unready = [...inits.filter(({ name }) => sidecars.has(name)), ...main].filter(({ ready }) => !ready);
  // A sidecar that has started stays initialized: main containers run only after it.
  const hasBegun = main.some(({ containerID }) => containerID !== undefined);
  const incomplete = inits.filter(({ name, ready, started }) => !(sidecars.has(name) ? started || hasBegun : ready));
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
