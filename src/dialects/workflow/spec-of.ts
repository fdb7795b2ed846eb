import type { Workflow, WorkflowSpec } from "./kinds.ts";

// Browser-safe: views use it.

/** Limit of a spec, and of a spec with its template: both are stored in one object. */
export const maxSpecBytes = 1024 * 1024;

/** Fields allowed beside templateRef: they are about the run. Everything else is the template's. */
export const ownFields = [
  "arguments",
  "activeDeadlineSeconds",
  "ttlSecondsAfterFinished",
  "suspend",
  "parallelism",
  "priority",
  "notifications",
  "metadata",
] as const satisfies readonly (keyof WorkflowSpec)[];

export function withTemplate(own: WorkflowSpec, template: WorkflowSpec): WorkflowSpec {
  const given = ownFields.flatMap((field) => (own[field] === undefined ? [] : [[field, own[field]]]));
  return { ...template, ...Object.fromEntries(given) };
}

/** The spec a workflow runs. With a template it is the frozen one under its own; before the start it has no steps. */
export function specOf({ spec, status }: Pick<Workflow, "spec" | "status">): WorkflowSpec {
  if (spec?.templateRef === undefined || status?.resolvedSpec === undefined) return spec;
  // Validated before it was frozen.
  return withTemplate(spec, status.resolvedSpec);
}
