// A plan is data that describes steps independently of the runtime.

import type { Step } from "../definition/definition.ts";
import { planContainer } from "./container.ts";
import { type PlanContext, variableText } from "./context.ts";
import { planDocker } from "./docker.ts";
import { planHelm, planHelmPackage } from "./helm.ts";
import { planKubectl } from "./kubectl.ts";
import { planNuget } from "./nuget.ts";
import type { EnvEntry, PlannedParts, StepPlan } from "./step-plan.ts";

/** Undefined, after reporting, if required variables are missing. */
export function planStep(step: Step, stage: string, stepId: number, context: PlanContext): StepPlan | undefined {
  const parts = partsOf(step, context);
  if (parts === undefined) return undefined;
  const { overlay = [], env = [], ...more } = parts;
  return {
    stepId,
    stage,
    step: step.name,
    type: step.type,
    workdir: "/mnt/repo",
    envFrom: [],
    mounts: [],
    pullPolicy: "IfNotPresent",
    os: "linux",
    artifacts: [],
    testResults: [],
    ...more,
    env: [...env, ...commonEnv(step, stage, context)],
    repo: { overlay },
  };
}

function partsOf(step: Step, context: PlanContext): PlannedParts | undefined {
  switch (step.type) {
    case "container":
      return planContainer(step, context);
    case "docker":
      return planDocker(step, context);
    case "helm":
      return planHelm(step, context);
    case "helm-package":
      return planHelmPackage(step, context);
    case "kubectl":
      return planKubectl(step, context);
    case "nuget-package":
      return planNuget(step, context);
  }
}

/** Variables of every step; the build's number is left out if it has none. */
function commonEnv(step: Step, stage: string, context: PlanContext): readonly EnvEntry[] {
  const build = variableText(context, "BUILD_REF", { scope: step.scope, at: step.at });
  return [
    { name: "CI", value: "true" },
    { name: "WHARF_ARTIFACTS_DIR", value: "/mnt/artifacts" },
    ...(build === undefined ? [] : [{ name: "WHARF_BUILD_ID", value: build }]),
    { name: "WHARF_STAGE", value: stage },
    { name: "WHARF_STEP", value: step.name },
  ];
}
