import { type FieldPath, isJsonObject, type JsonObject, type JsonValue, parseInstant } from "#lib/base/index.ts";
import { labelValueRule, qualifiedNameRule, subdomainRule } from "#kernel/model/index.ts";
import type { WorkflowSpec } from "../kinds.ts";
import type { Report } from "#kernel/dialect/index.ts";
import { checkApproval } from "./approval.ts";
import { checkCache } from "./cache.ts";
import { isApplied, type StepSource, stepType } from "./step-source.ts";

/** Undefined members are unknown and not checked. */
export interface RuleContext {
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly selector: Readonly<Record<string, string>>;
}

export function checkStepBodies(
  spec: WorkflowSpec,
  sources: readonly StepSource[],
  context: RuleContext,
  report: Report,
): void {
  checkSelector(spec, report);
  for (const source of sources) {
    checkBody(source, context, report);
    checkForeignFields(source, report);
    checkCache(source, report);
  }
}

/** Children carry it as labels, so it must consist of valid labels. */
function checkSelector({ selector }: WorkflowSpec, report: Report): void {
  if (selector === undefined) return;
  const at = ["spec", "selector"];
  if (selector.matchExpressions !== undefined)
    report([...at, "matchExpressions"], "not-carried", "only matchLabels can be put on the created jobs");
  const labels = Object.entries(selector.matchLabels ?? {});
  if (labels.length === 0) report([...at, "matchLabels"], "required", "at least one label is required");
  for (const [name, value] of labels) {
    const wrong = qualifiedNameRule(name) ?? labelValueRule(value);
    if (wrong !== undefined)
      report([...at, "matchLabels", name], "invalid-value", `${wrong}, found ${JSON.stringify(`${name}: ${value}`)}`);
  }
}

function checkBody(source: StepSource, context: RuleContext, report: Report): void {
  const { step, path } = source;
  if (step.jobTemplate !== undefined) checkJob(step.jobTemplate, [...path, "jobTemplate"], context, report);
  if (step.container !== undefined && step.container.image === undefined)
    report([...path, "container", "image"], "required", "an image is required");
  if (step.template !== undefined) {
    checkTemplate(step.template, [...path, "template"], context, report);
    if (isApplied(step)) checkApplied(step.template, [...path, "template", "metadata"], report);
  }
  if (step.externalRef !== undefined) checkReference(source, context, report);
  if (step.workflow !== undefined && (step.workflow.templateRef === undefined) === (step.workflow.spec === undefined))
    report([...path, "workflow"], "not-exactly-one", "exactly one of templateRef and spec is required");
  checkLocks(step.locks ?? [], [...path, "locks"], report);
  if (step.wait !== undefined) checkWait(step.wait, [...path, "wait"], report);
  if (step.approval !== undefined) checkApproval(source, step.approval, report);
}

/** The Job controller's fields must be absent. A missing parent hides missing members. */
function checkJob(template: JsonObject, path: FieldPath, context: RuleContext, report: Report): void {
  checkLabels(template["metadata"], [...path, "metadata"], context, report);
  const spec = template["spec"];
  if (!isJsonObject(spec)) return report([...path, "spec"], "required", "the spec of the Job is required");
  for (const field of ["selector", "manualSelector"])
    if (spec[field] !== undefined)
      report([...path, "spec", field], "forbidden", "must be absent: the Job selects its own pods");
  const pod = spec["template"];
  if (!isJsonObject(pod))
    return report([...path, "spec", "template"], "required", "the template of the Pod is required");
  checkPod(pod["spec"], [...path, "spec", "template", "spec"], report);
}

/** An absent restart policy means Always, which a Job cannot have. */
function checkPod(pod: JsonValue | undefined, path: FieldPath, report: Report): void {
  if (!isJsonObject(pod)) return report(path, "required", "the spec of the Pod is required");
  const policy = pod["restartPolicy"];
  if (policy !== "Never" && policy !== "OnFailure" && !isTemplated(policy)) {
    const found = policy === undefined ? "nothing, which means Always" : JSON.stringify(policy);
    report([...path, "restartPolicy"], "invalid-value", `must be Never or OnFailure, found ${found}`);
  }
  const containers = pod["containers"];
  if (!Array.isArray(containers) || containers.length === 0)
    report([...path, "containers"], "required", "at least one container is required");
}

/** Known only when the step starts. */
const isTemplated = (value: JsonValue | undefined): boolean => typeof value === "string" && value.includes("${{");

/** A template must not contradict `spec.selector`; Pods of a Job may. */
function checkLabels(
  metadata: JsonValue | undefined,
  path: FieldPath,
  { selector }: RuleContext,
  report: Report,
): void {
  const given = isJsonObject(metadata) && isJsonObject(metadata["labels"]) ? metadata["labels"] : {};
  for (const [name, wanted] of Object.entries(selector)) {
    const value = given[name];
    // Numbers become texts when the child is made.
    if (value !== undefined && value !== wanted && JSON.stringify(value) !== wanted)
      report(
        [...path, "labels", name],
        "selector-conflict",
        `is ${JSON.stringify(value)}, but spec.selector puts "${wanted}" on every job`,
      );
  }
}

/** Children are in the workflow's namespace and get derived names. */
function checkTemplate(template: JsonObject, path: FieldPath, context: RuleContext, report: Report): void {
  for (const field of ["apiVersion", "kind"])
    if (typeof template[field] !== "string" || template[field] === "")
      report([...path, field], "required", "a template is a whole resource: apiVersion and kind are required");
  const metadata = template["metadata"];
  checkLabels(metadata, [...path, "metadata"], context, report);
  if (!isJsonObject(metadata)) return;
  checkNamespace(metadata["namespace"], [...path, "metadata", "namespace"], context, report);
  if (metadata["generateName"] !== undefined)
    report(
      [...path, "metadata", "generateName"],
      "forbidden",
      "must be absent: names of children follow from the step",
    );
}

/** An applied object is found by name alone, so it must be complete. */
function checkApplied(template: JsonObject, path: FieldPath, report: Report): void {
  const metadata = isJsonObject(template["metadata"]) ? template["metadata"] : {};
  const { name } = metadata;
  if (typeof name !== "string" || name === "")
    report([...path, "name"], "required", "operation Apply requires the name of the object");
  for (const field of ["uid", "resourceVersion", "managedFields"])
    if (metadata[field] !== undefined) report([...path, field], "forbidden", "must not be set with operation Apply");
}

function checkNamespace(namespace: JsonValue | undefined, path: FieldPath, context: RuleContext, report: Report): void {
  // Empty counts as absent, as everywhere in Kubernetes.
  if (namespace === undefined || namespace === "") return;
  if (context.namespace === undefined || namespace === context.namespace) return;
  report(
    path,
    "other-namespace",
    `must be the workflow's own namespace "${context.namespace}", found ${JSON.stringify(namespace)}`,
  );
}

/** Other namespaces might not be readable to the user. */
function checkReference({ step, path }: StepSource, context: RuleContext, report: Report): void {
  const reference = step.externalRef ?? {};
  const at = [...path, "externalRef"];
  for (const field of ["apiVersion", "kind", "name"] as const)
    if (reference[field] === undefined || reference[field] === "")
      report([...at, field], "required", `a reference needs apiVersion, kind and name`);
  checkNamespace(reference.namespace, [...at, "namespace"], context, report);
  const itself =
    reference.kind === "Workflow" &&
    reference.apiVersion?.startsWith("slipway.dev/") === true &&
    reference.name === context.name;
  if (itself && context.name !== undefined) report(at, "waits-for-itself", "a workflow cannot wait for itself");
}

function checkLocks(locks: readonly { readonly name: string }[], path: FieldPath, report: Report): void {
  for (const [index, { name }] of locks.entries()) {
    const wrong = isTemplated(name) ? undefined : subdomainRule(name);
    if (wrong !== undefined)
      report([...path, index, "name"], "invalid-value", `${wrong}, found ${JSON.stringify(name)}`);
  }
}

function checkWait(
  wait: { readonly seconds?: number; readonly until?: string },
  path: FieldPath,
  report: Report,
): void {
  const given = [wait.seconds, wait.until].filter((value) => value !== undefined).length;
  if (given !== 1) report(path, "not-exactly-one", "exactly one of seconds and until is required");
}

/** Any other `until` is an expression. */
export const isInstant = (text: string): boolean => parseInstant(text) !== undefined;

/** Fields without meaning for the type are refused, so that nobody relies on them. */
function checkForeignFields({ step, path }: StepSource, report: Report): void {
  const type = stepType(step);
  if (type === undefined) return;
  const refuse = (field: keyof typeof step, why: string): void => {
    if (step[field] !== undefined) report([...path, field], "forbidden", why);
  };
  if (type !== "template") {
    refuse("operation", "only a template has an operation");
    refuse("ownership", "only a template has an ownership");
  }
  if (!isApplied(step)) refuse("force", "only operation Apply can take over fields");
  if (step.forEach !== undefined && step.repeat !== undefined)
    report([...path, "repeat"], "forbidden", "a step has forEach or repeat; loops over items are steps of a child");
  if (type !== "wait" && type !== "externalRef") return;
  const what = type === "wait" ? "a timer" : "a reference";
  refuse("forEach", `${what} has no child to fan out`);
  refuse("repeat", `${what} has no child to repeat`);
  if (type !== "wait") return;
  refuse("completion", "a timer has no object to look at");
  refuse("outputs", "a timer has no outputs");
}
