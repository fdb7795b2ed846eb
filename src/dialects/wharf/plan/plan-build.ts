// Stages run one after another and their steps together; that is all of the order there is, so that a plan is a list of lists. Conditions of stages
// are decided while the build runs, and are part of the plan as they are.

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

/**
 * What a build does. Numbers are given in the order of the definition to what is selected, also to stages that their condition will skip.
 * Steps that cannot be planned have been reported and are not there; their numbers are. Stages that are not selected are looked at too.
 */
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

/** The steps of a stage from a number on. A step that cannot be planned takes its number with it, so that no other step gets it. */
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
