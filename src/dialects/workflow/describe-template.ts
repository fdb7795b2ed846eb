import { type JsonValue } from "#lib/base/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import { pairsOf, tableOf } from "#kernel/dialect/index.ts";
import { isApplied, type StepSource, stepSources, stepType } from "./compile/step-source.ts";
import { traitsOf } from "./graph.ts";
import { type Param, Workflow, type WorkflowStep, type WorkflowTemplate } from "./kinds.ts";
import { viewWorkflow } from "./view.ts";

/** A template for people: parameters, then steps in topological order. Several lines without colours. */
export function describeTemplate({ metadata, spec }: WorkflowTemplate): string {
  const { steps } = viewWorkflow({ apiVersion: apiVersionOf(Workflow), kind: Workflow.kind, metadata, spec });
  const sources = new Map(stepSources(spec).map((source) => [source.key, source]));
  const [main, final] = [steps.filter((step) => step.final !== true), steps.filter((step) => step.final === true)];
  const params = spec.params ?? [];
  const outputs = Object.keys(spec.outputs ?? {});
  const head = pairsOf([
    ["Name", metadata.name ?? ""],
    ["Namespace", metadata.namespace ?? "-"],
    ["Deadline", spec.activeDeadlineSeconds === undefined ? "-" : `${spec.activeDeadlineSeconds}s`],
    ["On failure", spec.failureStrategy ?? "Continue"],
    ["Outputs", outputs.length === 0 ? "-" : outputs.join(", ")],
  ]);
  const rows = [...main, ...final].map(({ id, dependencies }) => rowOf(sources.get(id), id, dependencies));
  const [title = "", ...lines] = tableOf([["STEP", "TYPE", "DEPENDENCIES", "WHAT"], ...rows]);
  const finally_ = final.length === 0 ? [] : ["FINALLY", ...lines.slice(main.length)];
  return [
    ...head,
    "",
    ...(params.length === 0
      ? ["Params:     none"]
      : tableOf([["PARAM", "TYPE", "DEFAULT", "ALLOWED", "DESCRIPTION"], ...params.map(paramRow)])),
    "",
    title,
    ...lines.slice(0, main.length),
    ...finally_,
    "",
  ].join("\n");
}

function paramRow(param: Param): readonly string[] {
  const { name, secret, type = "string", default: otherwise, required, description = "" } = param;
  const absent = required === true || secret === true ? "(required)" : "-";
  return [
    name,
    secret === true ? "secret" : type,
    otherwise === undefined ? absent : short(otherwise),
    allowed(param),
    description,
  ];
}

function allowed({ enum: values, pattern, minimum, maximum }: Param): string {
  const parts = [
    values === undefined ? "" : values.map((value) => short(value)).join(" | "),
    pattern === undefined ? "" : `matches ${pattern}`,
    minimum === undefined ? "" : `from ${minimum}`,
    maximum === undefined ? "" : `to ${maximum}`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "-" : parts.join(" ");
}

function short(value: JsonValue): string {
  const text = typeof value === "string" && value !== "" ? value : JSON.stringify(value);
  return text.length <= 40 ? text : `${text.slice(0, 39)}…`;
}

function rowOf(source: StepSource | undefined, id: string, dependencies: readonly string[]): readonly string[] {
  const step = source?.step ?? {};
  const { condition, forEach, repeat } = traitsOf(step);
  const what = [
    whatOf(step),
    condition === undefined ? "" : `when ${condition}`,
    forEach === undefined ? "" : `for each of ${forEach}`,
    repeat === undefined ? "" : `repeat ${repeat}`,
  ];
  const type = stepType(step) ?? "?";
  return [id, type, dependencies.join(", ") || "-", what.filter((part) => part !== "").join("; ")];
}

function whatOf(step: WorkflowStep): string {
  const { container, template, externalRef, workflow, wait, approval } = step;
  if (container !== undefined) return container.image ?? "";
  if (template !== undefined) return `${isApplied(step) ? "applies " : ""}${nameOf(template)}`;
  if (externalRef !== undefined) return nameOf({ ...externalRef, metadata: { name: externalRef.name } });
  if (workflow !== undefined) return workflow.templateRef?.name ?? "";
  if (wait !== undefined) return wait.until ?? `${wait.seconds ?? 0}s`;
  return approval?.message ?? "";
}

function nameOf({ kind, metadata }: { readonly kind?: unknown; readonly metadata?: unknown }): string {
  const name = typeof metadata === "object" && metadata !== null && "name" in metadata ? metadata.name : undefined;
  return [kind, name].filter((part) => typeof part === "string" && part !== "").join("/");
}
