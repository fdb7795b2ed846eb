import { type FieldPath, isJsonObject, type JsonValue } from "#lib/base/index.ts";
import type { WorkflowStep } from "../kinds.ts";
import type { Report } from "#kernel/dialect/index.ts";
import type { CompiledCache } from "./compiled.ts";
import { compileBody, type ExpressionScope } from "./expressions.ts";
import { type StepSource, stepType } from "./step-source.ts";

// Whether a step may have a cache: its inputs must be in the document and its result usable without running it.

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

/** Allowed types, so that new ones are refused until considered: steps whose child's result can be reused. */
const cacheable: ReadonlySet<string | undefined> = new Set(["jobTemplate", "container", "template", "workflow"]);

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
    report(at, "required", "a step with templateRef requires a key: the cache does not cover the template's content");
}

/** At any depth: steps of a child may refer to templates. */
function hasTemplateRef(value: JsonValue | WorkflowStep["workflow"]): boolean {
  if (Array.isArray(value)) return value.some(hasTemplateRef);
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([name, member]) => name === "templateRef" || hasTemplateRef(member ?? null));
}
