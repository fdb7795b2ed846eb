import { defined, type Clock, isJsonObject, type JsonObject, parseDuration, textAt } from "#lib/base/index.ts";
import type { ActionResult, StepNotes } from "./provider.ts";

export interface SuspendScope {
  readonly path: string;
  readonly execution: number;
  readonly notes: StepNotes;
  readonly clock: Clock;
}

/**
 * Suspends once: a later execution means that the step was resumed or its time is over. The same execution again means
 * that a crash lost the suspension, which is then repeated.
 */
export function suspendOnce(scope: SuspendScope, { duration, message }: JsonObject): ActionResult {
  const key = `suspend ${scope.path}`;
  const noted = scope.notes.get(key);
  const told = typeof message === "string" && message !== "" ? { message } : {};
  if (isJsonObject(noted)) {
    if (noted["execution"] !== scope.execution) return { kind: "continue" };
    const until = noted["until"];
    return { kind: "suspend", ...told, ...(typeof until === "number" ? { until } : {}) };
  }
  const length = textAt({ duration }, "duration");
  const parsed = length === undefined ? undefined : parseDuration(length);
  if (parsed?.ok === false) return { kind: "error", message: parsed.error };
  const until = parsed === undefined ? undefined : scope.clock.now() + parsed.value;
  scope.notes.set(key, { execution: scope.execution, ...defined({ until }) });
  return { kind: "suspend", ...told, ...defined({ until }) };
}
