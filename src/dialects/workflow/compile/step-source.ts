import type { FieldPath } from "#lib/base/index.ts";
import { compareBytes } from "#engine/index.ts";
import type { WorkflowSpec, WorkflowStep } from "../kinds.ts";

export const stepTypes = [
  "jobTemplate",
  "externalRef",
  "template",
  "workflow",
  "container",
  "wait",
  "approval",
] as const;
export type StepType = (typeof stepTypes)[number];

export type ExecutedType = Exclude<StepType, "wait" | "approval">;
export const isExecuted = (type: StepType): type is ExecutedType => type !== "wait" && type !== "approval";

export interface StepSource {
  readonly key: string;
  readonly final: boolean;
  readonly path: FieldPath;
  readonly step: WorkflowStep;
  /** Without defaults; later edits are compared with it. */
  readonly written: WorkflowStep;
}

/** All steps, main ones first, by the bytes of their keys: Kubernetes clients do not keep the order of maps. */
export function stepSources(spec: WorkflowSpec): readonly StepSource[] {
  return [...sourcesOf(spec, "steps"), ...sourcesOf(spec, "finally")];
}

function sourcesOf(spec: WorkflowSpec, part: "steps" | "finally"): readonly StepSource[] {
  const steps = Object.entries(spec[part] ?? {}).sort((a, b) => compareBytes(a[0], b[0]));
  return steps.map(([key, step]) => ({
    key,
    final: part === "finally",
    path: ["spec", part, key],
    step: { ...spec.stepDefaults, ...step },
    written: step,
  }));
}

/** Applied to an object that may exist. */
export const isApplied = ({ operation }: WorkflowStep): boolean => operation === "Apply";

/** The object outlives the workflow and a cancelled step. */
export const isLetLive = (step: WorkflowStep): boolean =>
  (step.ownership ?? (isApplied(step) ? "Independent" : "Owned")) === "Independent";

export const membersOf = (step: WorkflowStep): readonly string[] =>
  allMembers.filter((name) => step[name] !== undefined);

const allMembers = [...stepTypes, "patch", "http"] as const;

export function stepType(step: WorkflowStep): StepType | undefined {
  const members = membersOf(step);
  return members.length === 1 ? stepTypes.find((type) => type === members[0]) : undefined;
}
