import type { Workflow, WorkflowSpec } from "./kinds.ts";

// Nothing here needs Node: views ask for the specification as well.

/**
 * A specification above this is refused, and so are one and what it resolves to together: both are in one object, which with the
 * rest of its status must fit a real store.
 */
export const maxSpecBytes = 1024 * 1024;

/**
 * What a Workflow may say beside its templateRef: what is about this run and not about what is run. All else comes from the
 * template, so that a template is either used as it is or not at all.
 */
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

/** What a workflow that refers to a template runs: the template's specification, and its own fields over it. */
export function withTemplate(own: WorkflowSpec, template: WorkflowSpec): WorkflowSpec {
  const given = ownFields.flatMap((field) => (own[field] === undefined ? [] : [[field, own[field]]]));
  return { ...template, ...Object.fromEntries(given) };
}

/**
 * The specification a workflow is run by. Of one that refers to a template it is what was frozen when the run started, whatever
 * became of the template since; its own fields can still be changed, and win. Before the start such a workflow has no steps here.
 */
export function specOf({ spec, status }: Pick<Workflow, "spec" | "status">): WorkflowSpec {
  if (spec?.templateRef === undefined || status?.resolvedSpec === undefined) return spec;
  // It was checked before it was frozen.
  return withTemplate(spec, status.resolvedSpec);
}
