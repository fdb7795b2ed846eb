import { formatInstant, type Instant } from "#lib/base/index.ts";
import { present } from "../members.ts";
import { type WorkflowState } from "../state.ts";

/** Only the name of the time differs between versions. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly time?: string;
  readonly lastTransitionTime?: string;
}

/** Updates one condition: the time moves only with the status, and an unchanged list stays the same object. */
export const putCondition =
  (timeName: "time" | "lastTransitionTime", now: Instant) =>
  (list: readonly Condition[], next: Omit<Condition, "time" | "lastTransitionTime">): readonly Condition[] => {
    const at = list.findIndex(({ type }) => type === next.type);
    const old = list[at];
    if (old === undefined) return [...list, { ...next, [timeName]: formatInstant(now) }];
    if (old.status === next.status && old.reason === next.reason && old.message === next.message) return list;
    const time = old.status === next.status ? old[timeName] : undefined;
    const { reason: _reason, message: _message, ...kept } = old;
    return list.with(at, { ...kept, ...next, [timeName]: time ?? formatInstant(now) });
  };

/** Unknown until the end; then with the failed action's reason and message, or else the workflow's. */
export function succeededCondition({ phase, actions, reason, message }: WorkflowState): Condition {
  if (phase === "Succeeded") return { type: "Succeeded", status: "True" };
  if (phase !== "Failed" && phase !== "Canceled") return { type: "Succeeded", status: "Unknown" };
  const failed = actions.find((action) => action.phase === "Failed");
  return {
    type: "Succeeded",
    status: "False",
    ...present({ reason: failed?.reason ?? reason, message: failed?.message ?? message }),
  };
}
