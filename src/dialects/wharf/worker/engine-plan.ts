// Stages are engine groups that run one after another; a failed step cancels the others of its stage.

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

export interface BuildLimits {
  readonly maxParallel?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

export const stageKey = ({ stageId }: Pick<StagePlan, "stageId">): string => `${stageId}`;

export const stepKey = (stage: Pick<StagePlan, "stageId">, { stepId }: Pick<StepPlan, "stepId">): string =>
  `${stageKey(stage)}/${stepId}`;

/** Throws for plans that no definition can produce. */
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

function stageGroup({ steps }: StagePlan, maxParallel: number | undefined): Plan {
  const nodes = steps.map(({ stepId }) => ({ id: `${stepId}`, dependsOn: [] }));
  const inner = steps.map(({ stepId, timeoutMs }) =>
    planStep({ id: `${stepId}`, ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }) }),
  );
  const bound = maxParallel === undefined ? {} : { parallelism: maxParallel };
  return planned(nodes, inner, { strategy: "Cancel", ...bound });
}

function planned(nodes: readonly NodeSpec[], steps: readonly PlanStep[], policy: Plan["policy"]): Plan {
  const plan = buildPlan(nodes, steps, { policy });
  if (!plan.ok) throw new Error(`the build cannot be run: ${JSON.stringify(plan.error[0])}`);
  return plan.value;
}

/** Skipped stages count neither as failed nor as succeeded. */
const gateOf =
  (runsIf: RunsIf, earlier: readonly string[]): Gate =>
  (scope) => {
    const hasFailed = runsIf !== "always" && earlier.some((id) => scope.state(id).phase === "Failed");
    return runsIf === "always" || hasFailed === (runsIf === "fail") ? { run: true } : { skip: "ConditionFalse" };
  };

export const isBegun = (run: Parameters<typeof stepState>[0], stage: StagePlan): boolean => {
  const { phase } = stepState(run, stageKey(stage));
  return phase !== "Pending" && phase !== "Waiting" && phase !== "Skipped";
};
