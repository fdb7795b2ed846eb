import { asJson, type KubeObject } from "#kernel/model/index.ts";
import type { CompiledExpression } from "../compile/expressions.ts";
import { evaluateCondition } from "../compile/values.ts";
import { aboutGeneration, type ObjectState, readinessOf, stateOfObject } from "../completion.ts";
import type { Attempt } from "./executor.ts";

/**
 * The state of a step's object, by the step's `completion` or the rules of its kind. `failure` is evaluated first; an
 * error means "not yet". Statuses of an applied object about older generations count as absent.
 */
export function objectState(attempt: Attempt, object: KubeObject): ObjectState {
  const { completion } = attempt.step;
  const since = attempt.reference?.generation;
  if (completion === undefined) return stateOfObject(object, since);
  if (completion.is === "Created") return { is: "succeeded" };
  if (completion.is !== "expressions") return readinessOf(object, since);
  const told = aboutGeneration(object, since);
  const holds = (expression: CompiledExpression | undefined): boolean => {
    if (expression === undefined) return false;
    // The object may lack the field so far.
    const answer = evaluateCondition(expression, attempt.compiled, attempt.values, { object: asJson(told) });
    return answer.ok && answer.value;
  };
  if (holds(completion.failure)) {
    const message = `${object.kind} "${object.metadata.name ?? ""}" meets the step's condition of failure`;
    return { is: "failed", reason: "FailureCondition", message };
  }
  return { is: holds(completion.success) ? "succeeded" : "running" };
}
