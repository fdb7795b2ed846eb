import type { Stored } from "#kernel/model/index.ts";

/** One container whose output belongs to a step: `pod` as it was when it was looked up. */
export interface StepLog {
  /** Of a step of a run that a step has created: `part/tell`, with what that step's log would be called in front. */
  readonly step: string;
  readonly attempt: number;
  /** Index of the item, where the step fans out. */
  readonly item?: number;
  readonly pod: Stored;
  readonly container: string;
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

/** The containers of a Pod as logs of the step `of`, init containers first; one of them only where it is named. */
export function containersOf(
  pod: Stored,
  of: Pick<StepLog, "step" | "attempt" | "item" | "inner">,
  only?: string,
): readonly StepLog[] {
  // A stored Pod has passed its schema.
  const { initContainers = [], containers = [] } = pod.spec as PodSpec;
  return [...initContainers, ...containers]
    .filter(({ name }) => only === undefined || name === only)
    .map(({ name }) => ({ ...of, pod, container: name }));
}

/** Names made in one second say nothing; the server has no finer time to tell. */
export const compareAges = (a: Stored, b: Stored): number =>
  a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1;
