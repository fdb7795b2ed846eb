// Stages run one after another and their steps together. Conditions are evaluated during the build and are part of
// the plan.

import type { Definition, Stage } from "../definition/definition.ts";
import type { Reporter } from "../definition/diagnostics.ts";
import type { Substituter } from "../variables/substitute.ts";
import { planStep } from "./plan-step.ts";
import { type Selection, selectStages } from "./select.ts";
import type { PlanSettings } from "./settings.ts";
import type { BuildPlan, StagePlan, StepPlan } from "./step-plan.ts";

export interface PlanRequest extends Selection {
  readonly substituter: Substituter;
  readonly settings: PlanSettings;
}

/** Numbers are assigned to selected stages and steps in order, also to steps that cannot be planned. Unselected stages
 * are checked too. */
export function planBuild(definition: Definition, request: PlanRequest, reporter: Reporter): BuildPlan {
  const selected = selectStages(definition, request, reporter);
  for (const stage of definition.stages) if (!selected.includes(stage)) planSteps(stage, 1, false, request, reporter);
  let stepId = 1;
  const stages = selected.map((stage, index): StagePlan => {
    const steps = planSteps(stage, stepId, true, request, reporter);
    stepId += stage.steps.length;
    return { stageId: index + 1, name: stage.name, runsIf: stage.runsIf, steps };
  });
  return { stages };
}

function planSteps(
  { name, steps }: Stage,
  firstId: number,
  isSelected: boolean,
  { substituter, settings }: PlanRequest,
  reporter: Reporter,
): readonly StepPlan[] {
  const context = { substituter, settings, reporter, isSelected };
  return steps.flatMap((step, index) => planStep(step, name, firstId + index, context) ?? []);
}
