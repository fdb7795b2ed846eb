import { formatTime, type Instant } from "#lib/base/index.ts";

/** Kubernetes' `meta/v1 Condition`. */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

/**
 * The conditions with one of them set. `lastTransitionTime` moves only when the status does; the order of the others stays. Answers
 * the same array when nothing changes.
 */
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

/** The condition of a type, if there is one. */
export const conditionOf = (conditions: readonly Condition[] | undefined, type: string): Condition | undefined =>
  conditions?.find((condition) => condition.type === type);

/** Is the condition there and True? Absent and Unknown are not. */
export const isTrue = (conditions: readonly Condition[] | undefined, type: string): boolean =>
  conditionOf(conditions, type)?.status === "True";

const isSame = (a: Condition, b: Condition): boolean =>
  a.status === b.status &&
  a.reason === b.reason &&
  a.message === b.message &&
  a.observedGeneration === b.observedGeneration &&
  a.lastTransitionTime === b.lastTransitionTime;
