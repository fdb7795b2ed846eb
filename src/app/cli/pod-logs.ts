import type { LogRef } from "#engine/index.ts";
import type { Ref } from "#kernel/kit/index.ts";
import { Pod, type ResourceType, type Stored } from "#kernel/model/index.ts";

/** One log whose lines belong to a step: that of a container of a Pod, or one of a run's own. */
export interface StepLog {
  /** Of a step of a run that a step has created: `part/tell`, with what that step's log would be called in front. */
  readonly step: string;
  readonly attempt: number;
  /** Index of the item, where the step fans out. */
  readonly item?: number;
  /** What has the log. */
  readonly of: Ref;
  /** An object made again under its old name has a log of its own. */
  readonly uid: string;
  /** Of a Pod the container; of a run what its language calls the part. */
  readonly container: string;
  /** When it was looked up; before, a log is refused. */
  readonly hasStarted: boolean;
  /** Of a container that has ended. */
  readonly exitCode?: number;
  /** Of a run inside of the run: whether its step has failed. */
  readonly inner?: { readonly isFailed: boolean };
}

/** How people call what writes: `build`, `build#2` in its second attempt, `probe[17]` for an item. */
export const logName = ({ step, item, attempt }: Pick<StepLog, "step" | "item" | "attempt">): string =>
  `${step}${item === undefined ? "" : `[${item}]`}${attempt > 1 ? `#${attempt}` : ""}`;

interface PodSpec {
  readonly initContainers?: readonly { readonly name: string }[];
  readonly containers?: readonly { readonly name: string }[];
}

/** The containers of a Pod as logs of a step, init containers first; one of them only where it is named. */
export function containersOf(
  pod: Stored,
  part: Pick<StepLog, "step" | "attempt" | "item" | "inner">,
  only?: string,
): readonly StepLog[] {
  // A stored Pod has passed its schema.
  const { initContainers = [], containers = [] } = pod.spec as PodSpec;
  return [...initContainers, ...containers]
    .filter(({ name }) => only === undefined || name === only)
    .map(({ name }) => ({ ...part, ...podOf(pod), container: name, ...stateOf(pod, name) }));
}

const podOf = ({ metadata: { namespace = "default", name, uid } }: Stored) => ({
  of: { type: Pod, namespace, name },
  uid,
});

interface ContainerState {
  readonly waiting?: unknown;
  readonly terminated?: { readonly exitCode?: number };
}

interface ContainerStatus {
  readonly name: string;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

/** A log may be asked for when the kubelet reports the container in any state but waiting. The exit code is that of its last run. */
function stateOf(pod: Stored, container: string): Pick<StepLog, "hasStarted" | "exitCode"> {
  // A stored Pod has passed its schema.
  const status = pod.status as
    | {
        readonly containerStatuses?: readonly ContainerStatus[];
        readonly initContainerStatuses?: readonly ContainerStatus[];
      }
    | undefined;
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const found = all.find(({ name }) => name === container);
  const { exitCode } = found?.state?.terminated ?? found?.lastState?.terminated ?? {};
  const hasStarted = found !== undefined && found.state?.waiting === undefined;
  return { hasStarted, ...(exitCode === undefined ? {} : { exitCode }) };
}

/** The log of a part of a run that keeps such logs itself; it is there from when there is a reference to it. */
export function ownLog(
  type: ResourceType,
  part: Pick<StepLog, "step" | "inner">,
  { object: { namespace = "default", name, uid = "" }, attempt, container = "" }: LogRef,
): StepLog {
  return { ...part, attempt, of: { type, namespace, name }, uid, container, hasStarted: true };
}

/** Objects created in the same second keep the server's order: it has no finer time. */
export const compareAges = ({ metadata: a }: Stored, { metadata: b }: Stored): number =>
  a.creationTimestamp === b.creationTimestamp ? 0 : a.creationTimestamp < b.creationTimestamp ? -1 : 1;
