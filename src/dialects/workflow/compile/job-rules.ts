import { type FieldPath, formatFieldPath, isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { checkJobSpec } from "#kernel/specs/index.ts";
import { nearest } from "#lib/text/index.ts";
import { fieldTokens, hintOf, isWithin, type ProblemCollector } from "#kernel/dialect/index.ts";
import { jobOfContainer, mainContainer } from "./container-job.ts";
import type { StepSource } from "./step-source.ts";

// Reports now what the server would refuse when it creates the Job later.

/**
 * Checks the Jobs of `jobTemplate` and `container` steps and their unknown fields, except where an error was reported
 * or an expression decides. What Kubernetes accepts and the embedded server does not is the warning `not-served`, which
 * that server's admission refuses.
 */
export function checkJobs(sources: readonly StepSource[], found: ProblemCollector): void {
  for (const { step, path } of sources) {
    if (step.jobTemplate !== undefined) checkTemplate(step.jobTemplate, [...path, "jobTemplate"], found);
    if (step.container !== undefined) checkContainer(step.container, [...path, "container"], found);
  }
}

function checkTemplate(template: JsonObject, path: FieldPath, found: ProblemCollector): void {
  const { spec } = template;
  if (!isJsonObject(spec) || !isJsonObject(spec["template"]) || !isJsonObject(spec["template"]["spec"])) return;
  const { selector: _own, manualSelector: _too, ...judged } = spec;
  judge(judged, (field) => field, template, path, found);
}

const mainField = formatFieldPath(mainContainer);
const podVolumes = "spec.template.spec.volumes";

function checkContainer(container: JsonObject, path: FieldPath, found: ProblemCollector): void {
  const { spec } = jobOfContainer(container);
  if (!isJsonObject(spec)) return;
  const toShort = (field: string): string => {
    if (isWithin(field, mainField)) return field.slice(mainField.length).replace(/^\./, "");
    return isWithin(field, podVolumes) ? `volumes${field.slice(podVolumes.length)}` : field;
  };
  judge(spec, toShort, container, path, found);
}

interface Finding {
  readonly reason?: string;
  readonly field?: string;
  readonly message?: string;
}

/** `toWritten` maps a field of the Job to its place in `written`. */
function judge(
  spec: JsonObject,
  toWritten: (field: string) => string,
  written: JsonObject,
  path: FieldPath,
  found: ProblemCollector,
): void {
  const findings = checkJobSpec(withTextLabels(spec), ["spec"], { isOpen });
  if (findings.causes.length + findings.unknown.length + findings.unsupported.length === 0) return;
  const told = found.problems.filter(({ severity }) => severity === "error").map((problem) => problem.path);
  const place = (field: string): FieldPath => [...path, ...fieldTokens(written, toWritten(field))];
  const report = (kind: "error" | "warn", code: string, finding: Finding): void => {
    const { reason = "", field = "spec", message = "" } = finding;
    const at = place(field);
    const name = formatFieldPath(at);
    if (!told.some((other) => isWithin(name, other))) found[kind](at, code, message, hintOf({ reason, message }));
  };
  for (const cause of findings.causes) report("error", codes[cause.reason ?? ""] ?? "invalid-value", cause);
  for (const field of findings.unknown) {
    const meant = nearest(field.slice("spec.".length), jobFields);
    const hint = meant === undefined ? "" : `; did you mean "${meant}"?`;
    report("error", "unknown-field", {
      field,
      message: `is not a field of a Job, which would be created without it${hint}`,
    });
  }
  for (const cause of findings.unsupported) report("warn", "not-served", cause);
}

const jobFields = [
  "activeDeadlineSeconds",
  "backoffLimit",
  "backoffLimitPerIndex",
  "completionMode",
  "completions",
  "managedBy",
  "maxFailedIndexes",
  "parallelism",
  "podFailurePolicy",
  "podReplacementPolicy",
  "successPolicy",
  "suspend",
  "template",
  "ttlSecondsAfterFinished",
] as const;

const codes: Readonly<Record<string, string>> = {
  FieldValueRequired: "required",
  FieldValueTypeInvalid: "wrong-type",
  FieldValueNotSupported: "unsupported-value",
  FieldValueForbidden: "forbidden",
};

const isOpen = (text: string): boolean => text.includes("${{");

/** Numbers become texts when the Job is made. */
function withTextLabels(spec: JsonObject): JsonObject {
  const template = spec["template"];
  const metadata = isJsonObject(template) ? template["metadata"] : undefined;
  if (!isJsonObject(template) || !isJsonObject(metadata)) return spec;
  const texts = Object.fromEntries(
    ["labels", "annotations"].flatMap((name): [string, JsonValue][] => {
      const values = metadata[name];
      return isJsonObject(values) ? [[name, Object.fromEntries(Object.entries(values).map(asText))]] : [];
    }),
  );
  return { ...spec, template: { ...template, metadata: { ...metadata, ...texts } } };
}

const asText = ([name, value]: readonly [string, JsonValue | undefined]): [string, string] => [
  name,
  typeof value === "string" ? value : JSON.stringify(value ?? null),
];
