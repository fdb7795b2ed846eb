import { formatTime, type Instant } from "#lib/base/index.ts";

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

/** Sets one condition. `lastTransitionTime` changes only with the status. Returns the same array if nothing changes. */
export function withCondition(
  conditions: readonly Condition[],
  wanted: Omit<Condition, "lastTransitionTime">,
  now: Instant,
): readonly Condition[] {
  const index = conditions.findIndex(({ type }) => type === wanted.type);
  const present = conditions[index];
  const changed = present?.status !== wanted.status;
  const lastTransitionTime = changed ? formatTime(now) : (present.lastTransitionTime ?? formatTime(now));
  const next: Condition = { ...wanted, lastTransitionTime };
  if (present === undefined) return [...conditions, next];
  if (isSame(present, next)) return conditions;
  return conditions.map((condition, at) => (at === index ? next : condition));
}

export const conditionOf = (conditions: readonly Condition[] | undefined, type: string): Condition | undefined =>
  conditions?.find((condition) => condition.type === type);

/** Absent and Unknown are not True. */
export const isTrue = (conditions: readonly Condition[] | undefined, type: string): boolean =>
  conditionOf(conditions, type)?.status === "True";

const isSame = (a: Condition, b: Condition): boolean =>
  a.status === b.status &&
  a.reason === b.reason &&
  a.message === b.message &&
  a.observedGeneration === b.observedGeneration &&
  a.lastTransitionTime === b.lastTransitionTime;
