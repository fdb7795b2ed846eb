import type { Instant } from "./values.ts";

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
  /** RFC 3339 in whole seconds. */
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

/** Updates a condition, or returns the same list. The transition time moves only with `status`. */
export function setCondition<C extends Condition>(list: readonly C[], next: C, now: Instant): readonly C[] {
  const at = list.findIndex((condition) => condition.type === next.type);
  const old = list[at];
  if (old === undefined) return [...list, { ...next, lastTransitionTime: formatSeconds(now) }];
  if (isSame(old, next)) return list;
  const moved = old.status === next.status ? old.lastTransitionTime : undefined;
  const { reason: _reason, message: _message, ...kept } = old;
  return list.with(at, { ...kept, ...next, lastTransitionTime: moved ?? formatSeconds(now) });
}

const isSame = (a: Condition, b: Condition): boolean =>
  a.status === b.status &&
  a.reason === b.reason &&
  a.message === b.message &&
  (b.observedGeneration === undefined || a.observedGeneration === b.observedGeneration);

const formatSeconds = (at: Instant): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

export const findCondition = <C extends Condition>(list: readonly C[], type: string): C | undefined =>
  list.find((condition) => condition.type === type);
