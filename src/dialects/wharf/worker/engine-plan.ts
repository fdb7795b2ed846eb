// Stages are groups of the engine, one after another; the steps of a stage are those of its group, and a failure among them ends the others. That
// is all the engine has to know; what a step is, it does not ask.

import {
  buildPlan,
  chain,
  type Gate,
  type NodeSpec,
  type Plan,
  planStep,
  type PlanStep,
  stepState,
} from "#engine/index.ts";
import type { RunsIf } from "../definition/definition.ts";
import type { BuildPlan, StagePlan, StepPlan } from "../plan/step-plan.ts";

/** Bounds of a build that is not in its definition. Absent: none. */
export interface BuildLimits {
  /** Steps at once, 1 or more, which of a stage start in their order. */
  readonly maxParallel?: number | undefined;
  /** Of the whole build, in milliseconds. */
  readonly timeoutMs?: number | undefined;
}

/** What the engine calls a stage. */
export const stageKey = ({ stageId }: Pick<StagePlan, "stageId">): string => `${stageId}`;

/** What the engine calls a step. */
export const stepKey = (stage: Pick<StagePlan, "stageId">, { stepId }: Pick<StepPlan, "stepId">): string =>
  `${stageKey(stage)}/${stepId}`;

/**
 * The build as the engine runs it. Throws for plans that no definition gives, which have more steps than the engine takes, and for a bound under which
 * no step would ever begin.
 */
export function enginePlan({ stages }: BuildPlan, { maxParallel, timeoutMs }: BuildLimits): Plan {
  if (maxParallel !== undefined && !(maxParallel >= 1))
    throw new RangeError(`maxParallel: expected 1 or more, found ${maxParallel}`);
  const groups = stages.map((stage, index): PlanStep => {
    const earlier = stages.slice(0, index).map(stageKey);
    return planStep({
      id: stageKey(stage),
      kind: "group",
      gate: gateOf(stage.runsIf, earlier),
      afterFailure: true,
      group: stageGroup(stage, maxParallel),
    });
  });
  const deadline = timeoutMs === undefined ? {} : { deadline: timeoutMs };
  return planned(chain(stages.map(stageKey)), groups, { strategy: "Continue", ...deadline });
}

/** Independent of each other, but for a failure: what still runs then is cancelled. */
function stageGroup({ steps }: StagePlan, maxParallel: number | undefined): Plan {
  const nodes = steps.map(({ stepId }) => ({ id: `${stepId}`, dependsOn: [] }));
  const inner = steps.map(({ stepId, timeoutMs }) =>
    planStep({ id: `${stepId}`, ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }) }),
  );
  const bound = maxParallel === undefined ? {} : { parallelism: maxParallel };
  return planned(nodes, inner, { strategy: "Cancel", ...bound });
}

/** A plan of the engine, which only a program that is wrong can refuse: names are numbers, and the graph is a line. */
function planned(nodes: readonly NodeSpec[], steps: readonly PlanStep[], policy: Plan["policy"]): Plan {
  const plan = buildPlan(nodes, steps, { policy });
  if (!plan.ok) throw new Error(`the build cannot be run: ${JSON.stringify(plan.error[0])}`);
  return plan.value;
}

/** A stage that was skipped counts as neither: only a failed one is a failure, wherever it was. */
const gateOf =
  (runsIf: RunsIf, earlier: readonly string[]): Gate =>
  (scope) => {
    const hasFailed = runsIf !== "always" && earlier.some((id) => scope.state(id).phase === "Failed");
    return runsIf === "always" || hasFailed === (runsIf === "fail") ? { run: true } : { skip: "ConditionFalse" };
  };

/** Whether the engine has begun a stage. */
export const isBegun = (run: Parameters<typeof stepState>[0], stage: StagePlan): boolean => {
  const { phase } = stepState(run, stageKey(stage));
  return phase !== "Pending" && phase !== "Waiting" && phase !== "Skipped";
};
