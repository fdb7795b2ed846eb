import type { FieldPath, JsonObject, JsonValue, Problem } from "#lib/base/index.ts";
import { type CheckedDocument, collectProblems, type Report } from "#kernel/dialect/index.ts";
import { templateBeside } from "./beside.ts";
import { checkValues } from "./compile/params.ts";
import { secretNames, wholeParam } from "./compile/secret-params.ts";
import { stepSources } from "./compile/step-source.ts";
import { type Param, Workflow, type WorkflowSpec, WorkflowTemplate } from "./kinds.ts";
import { ScheduledWorkflow } from "./schedule/kind.ts";

/** Like a run's own arguments, except for those with expressions. `secrets` are the giver's. */
export function checkStepArguments(
  params: readonly Param[],
  given: JsonObject,
  path: FieldPath,
  report: Report,
  secrets: ReadonlySet<string> = new Set(),
): void {
  checkValues(params, given, path, report, isLiteral);
  for (const { name, secret } of params) {
    const used = Object.hasOwn(given, name) ? wholeParam(given[name]) : undefined;
    if (secret !== true && used !== undefined && secrets.has(used))
      report(
        [...path, name],
        "invalid-argument",
        `"${used}" is secret, and the parameter "${name}" that it is given for is not`,
      );
  }
}

const isLiteral = (value: JsonValue): boolean => !JSON.stringify(value).includes("${{");

interface Given {
  readonly template: string;
  readonly values: JsonObject;
  readonly path: FieldPath;
  readonly secrets: ReadonlySet<string>;
}

/** Checks arguments for templates among the documents; problems by document. */
export function wrongArguments(documents: readonly CheckedDocument[]): readonly (readonly Problem[])[] {
  const beside = documents.map(({ object }) => object);
  return documents.map(({ object, source }) => {
    const found = collectProblems(source.positionOf);
    for (const { template, values, path, secrets } of givenIn(object)) {
      const known = templateBeside(template, object.metadata.namespace, beside);
      if (known !== undefined) checkStepArguments(known.spec.params ?? [], values, path, found.error, secrets);
    }
    return found.problems;
  });
}

/** Read without an error, so the kind is right. */
function givenIn(object: CheckedDocument["object"]): readonly Given[] {
  if (object.kind === Workflow.kind) return givenBySteps((object as Workflow).spec, []);
  if (object.kind === WorkflowTemplate.kind) return givenBySteps((object as WorkflowTemplate).spec, []);
  if (object.kind !== ScheduledWorkflow.kind) return [];
  const { spec } = (object as ScheduledWorkflow).spec.workflowTemplate;
  const place = ["spec", "workflowTemplate"];
  const { templateRef, arguments: values = {} } = spec;
  if (templateRef === undefined) return givenBySteps(spec, place);
  return [{ template: templateRef.name, values, path: [...place, "spec", "arguments"], secrets: new Set() }];
}

/** Also in inline specs of steps. */
function givenBySteps(spec: WorkflowSpec, at: FieldPath): readonly Given[] {
  const secrets = secretNames(spec.params);
  return stepSources(spec).flatMap(({ step, path }): readonly Given[] => {
    if (step.workflow === undefined) return [];
    const place = [...at, ...path, "workflow"];
    const { templateRef, spec: inner, arguments: values = {} } = step.workflow;
    if (templateRef !== undefined)
      return [{ template: templateRef.name, values, path: [...place, "arguments"], secrets }];
    return inner === undefined ? [] : givenBySteps(inner, place);
  });
}
