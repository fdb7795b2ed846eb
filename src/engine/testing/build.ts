import {
  buildPlan,
  type ChildState,
  type Fact,
  type GraphProblem,
  type Plan,
  type PlanOptions,
  type PlanStep,
  planStep,
  type RunState,
} from "../index.ts";

/** Steps as tests write them: id, what it depends on, and what is special about it. */
export type StepLine = Partial<PlanStep> & { readonly id: string; readonly after?: readonly string[] };

const text = (problems: readonly GraphProblem[]): string => JSON.stringify(problems);

/** A plan from lines; a bad graph is a bug of the test. */
export function plan(lines: readonly StepLine[], options?: PlanOptions): Plan {
  const nodes = lines.map(({ id, after = [] }) => ({ id, dependsOn: after }));
  const steps = lines.map(({ after: _after, ...fields }) => planStep(fields));
  const built = buildPlan(nodes, steps, options);
  if (!built.ok) throw new Error(text(built.error));
  return built.value;
}

export const alive = (step: string, attempt = 1): Fact => child(step, { is: "alive" }, attempt);
export const gone = (step: string, attempt = 1): Fact => child(step, { is: "gone" }, attempt);
export const succeeded = (step: string, attempt = 1): Fact => child(step, { is: "succeeded" }, attempt);
export const failed = (step: string, attempt = 1, retryable = true): Fact =>
  child(step, { is: "failed", reason: "Error", message: "exit code 1", retryable }, attempt);

export const child = (step: string, state: ChildState, attempt = 1): Fact => ({ kind: "child", step, attempt, state });

/** Phases of all steps that have an entry, with the reason where there is one: `{ a: "Skipped(RunFailing)" }`. */
export const phases = (run: RunState): Record<string, string> =>
  Object.fromEntries(
    Object.entries(run.steps).map(([id, { phase, reason }]) => [
      id,
      reason === undefined ? phase : `${phase}(${reason})`,
    ]),
  );
