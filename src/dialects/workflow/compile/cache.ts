import { type FieldPath, isJsonObject, type JsonValue } from "#lib/base/index.ts";
import type { WorkflowStep } from "../kinds.ts";
import type { Report } from "#kernel/dialect/index.ts";
import type { CompiledCache } from "./compiled.ts";
import { compileBody, type ExpressionScope } from "./expressions.ts";
import { type StepSource, stepType } from "./step-source.ts";

// Where a cache is allowed is a question of the document alone: whether a step has inputs that are all written in it, and a result that
// can be taken without it.

/** `cache` of a step: the key is filled in as the step itself is. */
export function compileCache(
  { key, maxAgeSeconds }: NonNullable<WorkflowStep["cache"]>,
  scope: ExpressionScope,
  at: FieldPath,
  report: Report,
): CompiledCache {
  return {
    key: key === undefined ? undefined : compileBody(key, scope, [...at, "key"], report),
    maxAge: maxAgeSeconds === undefined ? undefined : maxAgeSeconds * 1000,
  };
}

/** A list of what may, not of what may not: types to come are refused until somebody has thought about them. Steps with a child of their own whose result can stand for another's. */
const cacheable: ReadonlySet<string | undefined> = new Set(["jobTemplate", "container", "template", "workflow"]);

/** Reports where a step cannot be known by its inputs, or leaves nothing that could be taken. */
export function checkCache({ step, path }: StepSource, report: Report): void {
  if (step.cache === undefined) return;
  const at = [...path, "cache"];
  const type = stepType(step);
  if (type !== undefined && !cacheable.has(type)) {
    const message = `only a step that creates a child has a result to keep, and ${type} creates none`;
    return report(at, "forbidden", message);
  }
  if (step.repeat !== undefined)
    report(at, "forbidden", "each round of a loop has inputs of its own; put the loop into a child Workflow");
  if (step.operation === "Apply") report(at, "forbidden", "an apply that is left out leaves the object as it is");
  if (step.cache.key === undefined && step.workflow !== undefined && hasTemplateRef(step.workflow))
    report(at, "required", "what a WorkflowTemplate says is not written in this step: a key is required");
}

/** Anywhere in it: steps of the child may refer to templates, too. */
function hasTemplateRef(value: JsonValue | WorkflowStep["workflow"]): boolean {
  if (Array.isArray(value)) return value.some(hasTemplateRef);
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([name, member]) => name === "templateRef" || hasTemplateRef(member ?? null));
}
