import type { LogRef } from "#engine/index.ts";
import type { Ref } from "#kernel/kit/index.ts";
import { Pod, type ResourceType, type Stored } from "#kernel/model/index.ts";

/** One log of a step: of a container, or one that a run keeps itself. */
export interface StepLog {
  /** For an inner run, the path: `part/tell`. */
  readonly step: string;
  readonly attempt: number;
  readonly item?: number;
  /** The object that has the log. */
  readonly of: Ref;
  /** A recreated object has another log. */
  readonly uid: string;
  /** The container of a Pod, or the dialect's name of a part of a run. */
  readonly container: string;
  /** False while the server would refuse the log. */
  readonly hasStarted: boolean;
  readonly exitCode?: number;
  /** Set for inner runs. */
  readonly inner?: { readonly isFailed: boolean };
}

/** `build`, `build#2` in its second attempt, `probe[17]` for an item. */
export const logName = ({ step, item, attempt }: Pick<StepLog, "step" | "item" | "attempt">): string =>
  `${step}${item === undefined ? "" : `[${item}]`}${attempt > 1 ? `#${attempt}` : ""}`;

interface PodSpec {
  readonly initContainers?: readonly { readonly name: string }[];
  readonly containers?: readonly { readonly name: string }[];
}

/** The logs of a Pod's containers, init containers first, or of the container `only`. */
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

/** A log is available once the kubelet reports any state but waiting. The exit code is that of the last run. */
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

/** A log that a run keeps itself; available once there is a reference to it. */
export function ownLog(
  type: ResourceType,
  part: Pick<StepLog, "step" | "inner">,
  { object: { namespace = "default", name, uid = "" }, attempt, container = "" }: LogRef,
): StepLog {
  return { ...part, attempt, of: { type, namespace, name }, uid, container, hasStarted: true };
}

/** Objects created in the same second keep the server's order. */
export const compareAges = ({ metadata: a }: Stored, { metadata: b }: Stored): number =>
  a.creationTimestamp === b.creationTimestamp ? 0 : a.creationTimestamp < b.creationTimestamp ? -1 : 1;
