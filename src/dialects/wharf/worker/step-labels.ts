import type { StepPlan } from "../plan/step-plan.ts";

export interface BuildIdentity {
  readonly instance: string;
  readonly buildId?: number | undefined;
  readonly projectId?: number | undefined;
}

export const stepLabel = { app: "wharf-cmd-worker-step" } as const;

export const instanceLabel = "wharf.iver.com/instance";

/** Labels of the original's worker and of RFC-0025, as Kubernetes label values. */
export function stepLabels(
  step: StepPlan,
  stageId: number | undefined,
  build: BuildIdentity,
): Readonly<Record<string, string>> {
  const { buildId, projectId } = build;
  return {
    ...stepLabel,
    "app.kubernetes.io/name": "wharf-cmd-worker-step",
    "app.kubernetes.io/part-of": "wharf",
    "app.kubernetes.io/managed-by": "wharf-cmd-worker",
    "app.kubernetes.io/created-by": "wharf-cmd-worker",
    [instanceLabel]: labelValue(build.instance),
    ...(buildId === undefined
      ? {}
      : { "wharf.iver.com/build-ref": `${buildId}`, "wharf.iver.com/buildRef": `${buildId}` }),
    ...(projectId === undefined ? {} : { "wharf.iver.com/project-id": `${projectId}` }),
    ...(stageId === undefined ? {} : { "wharf.iver.com/stage-id": `${stageId}` }),
    "wharf.iver.com/step-id": `${step.stepId}`,
    "wharf.iver.com/stage": labelValue(step.stage),
    "wharf.iver.com/step": labelValue(step.step),
  };
}

export const stepNames = ({ stage, step }: StepPlan): Readonly<Record<string, string>> => ({
  "wharf.iver.com/stage-name": stage,
  "wharf.iver.com/step-name": step,
});

/** Prefix of a container's or Pod's name, valid for all engines, at most 42 characters. */
export const stepNamePrefix = ({ type, step }: StepPlan): string =>
  `wharf-build-${type}-${step}-`
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, "-")
    .slice(0, 42)
    .replace(/-*$/, "-");

export const labelValue = (text: string): string =>
  text
    .replaceAll(/[^A-Za-z0-9._-]/g, "_")
    .slice(0, 63)
    .replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, "");
