// What is said of a step outside of the build: on the container or Pod it runs in, where people, `kubectl get -l` and the next worker read it.

import type { StepPlan } from "../plan/step-plan.ts";

/** Whose step it is. What the build was not given is left out of the labels. */
export interface BuildIdentity {
  readonly instance: string;
  readonly buildId?: number | undefined;
  readonly projectId?: number | undefined;
}

/** What all containers of steps have in common. */
export const stepLabel = { app: "wharf-cmd-worker-step" } as const;

/** The label that says which worker's a step is. */
export const instanceLabel = "wharf.iver.com/instance";

/**
 * Labels by which steps are found: those of the original's worker, with real numbers, and those of RFC-0025. Values are labels in the sense of
 * Kubernetes; names of stages and steps as they are written are `stepNames`.
 */
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

/** The names as they are written, for where any text may be. */
export const stepNames = ({ stage, step }: StepPlan): Readonly<Record<string, string>> => ({
  "wharf.iver.com/stage-name": stage,
  "wharf.iver.com/step-name": step,
});

/** The beginning of a name for what a step runs in: readable, of the characters that all engines take, at most 42 of them. */
export const stepNamePrefix = ({ type, step }: StepPlan): string =>
  `wharf-build-${type}-${step}-`
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, "-")
    .slice(0, 42)
    .replace(/-*$/, "-");

/** Letters, digits, `-`, `_` and `.` inside, letters and digits at both ends, at most 63 of them. */
export const labelValue = (text: string): string =>
  text
    .replaceAll(/[^A-Za-z0-9._-]/g, "_")
    .slice(0, 63)
    .replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, "");
