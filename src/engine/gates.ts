import type { Gate, GateResult } from "./plan.ts";
import type { Result } from "./values.ts";

const run: GateResult = { run: true };
const dependencyFailed: GateResult = { skip: "DependencyFailed" };
const conditionFalse: GateResult = { skip: "ConditionFalse" };

/** `success()`: run if every direct dependency is ok. The gate of a step without a condition. */
export const defaultGate: Gate = (scope) => (scope.success() ? run : dependencyFailed);

/** `failure()`: run if a direct dependency is not ok. Its step needs `afterFailure`. */
export const failureGate: Gate = (scope) => (scope.failure() ? run : conditionFalse);

/** `always()`: run whatever happened. Its step needs `afterFailure`. */
export const alwaysGate: Gate = () => run;

/** The gate of a condition. Unless `afterFailure` it implies `success()`. An error fails the step. */
export function conditionGate(
  afterFailure: boolean,
  condition: (scope: Parameters<Gate>[0]) => Result<boolean, string>,
): Gate {
  return (scope) => {
    if (!afterFailure && !scope.success()) return dependencyFailed;
    const holds = condition(scope);
    if (!holds.ok) return { error: holds.error };
    return holds.value ? run : conditionFalse;
  };
}
