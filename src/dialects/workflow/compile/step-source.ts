import type { FieldPath } from "#lib/base/index.ts";
import { compareBytes } from "#engine/index.ts";
import type { WorkflowSpec, WorkflowStep } from "../kinds.ts";

/** The members of the union this version carries, in the order messages name them. */
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

/** Types of steps that have an executor; time and people carry out the others. */
export type ExecutedType = Exclude<StepType, "wait" | "approval">;
export const isExecuted = (type: StepType): type is ExecutedType => type !== "wait" && type !== "approval";

/** One step as the document has it, with the defaults of the workflow filled in. */
export interface StepSource {
  readonly key: string;
  /** Part of `finally`. */
  readonly final: boolean;
  readonly path: FieldPath;
  readonly step: WorkflowStep;
  /** As written, without defaults: what a later edit is compared with. */
  readonly written: WorkflowStep;
}

/**
 * All steps, main ones first. Kubernetes clients do not keep the order of maps, so steps are ordered by the bytes of
 * their keys: the same document is the same plan, whoever sent it. O(n log n).
 */
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

/** The template of the step is applied to an object that may be there already. */
export const isApplied = ({ operation }: WorkflowStep): boolean => operation === "Apply";

/** What the step creates or applies stays when the workflow goes, and when the step is cancelled. */
export const isLetLive = (step: WorkflowStep): boolean =>
  (step.ownership ?? (isApplied(step) ? "Independent" : "Owned")) === "Independent";

/** The union members a step has, known to this version or not. */
export const membersOf = (step: WorkflowStep): readonly string[] =>
  allMembers.filter((name) => step[name] !== undefined);

const allMembers = [...stepTypes, "patch", "http"] as const;

/** The step's type, if it has exactly one, and it is one this version carries. */
export function stepType(step: WorkflowStep): StepType | undefined {
  const members = membersOf(step);
  return members.length === 1 ? stepTypes.find((type) => type === members[0]) : undefined;
}
