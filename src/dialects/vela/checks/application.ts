import { isJsonObject, type JsonObject, listAt, objectAt, objectsAt, textAt } from "#lib/base/index.ts";
import type { ProblemCollector } from "#kernel/dialect/index.ts";
import { nameApplication, nameWorkflow, nameWorkflowRun } from "../names.ts";
import { checkCycles, checkDependsOn } from "./dependencies.ts";
import { repeated } from "./placed.ts";
import { checkSteps } from "./steps.ts";

/** Everything wrong with an Application that shows without other objects. The schema is checked elsewhere. */
export function checkApplication(document: JsonObject, found: ProblemCollector): void {
  const { spec } = nameApplication(document);
  if (!isJsonObject(spec)) return;
  const workflow = objectAt(spec, "workflow");
  const steps = objectsAt(workflow, "steps");
  const isRenderedBefore = steps.some(({ stage }) => stage === "pre-render");
  checkComponents(spec, isRenderedBefore, found);
  checkPolicies(spec, found);
  const ref = textAt(workflow, "ref");
  if (ref !== undefined && steps.length > 0)
    found.error(["spec", "workflow", "ref"], "forbidden", "cannot set steps and ref in workflow at the same time");
  if (listAt(spec, "components").length === 0 && ref === undefined && !isRenderedBefore)
    found.error(["spec", "components"], "required", "components are required, unless a step has stage pre-render");
  checkSteps(
    workflow?.["steps"],
    ["spec", "workflow", "steps"],
    {
      components: isRenderedBefore ? undefined : objectsAt(spec, "components"),
      mode: textAt(workflow, "mode", "steps") ?? "StepByStep",
    },
    found,
  );
}

/** Before rendering, a component may depend on one that is still to come. */
function checkComponents(spec: JsonObject, isRenderedBefore: boolean, found: ProblemCollector): void {
  const nodes = listAt(spec, "components").flatMap((object, index) =>
    isJsonObject(object)
      ? [{ object, name: textAt(object, "name") ?? "", path: ["spec", "components", index], further: [] }]
      : [],
  );
  for (const { name, path, first } of repeated(nodes))
    found.error([...path, "name"], "duplicate-name", `component name "${name}" is already used at ${first}`);
  if (!isRenderedBefore) checkDependsOn(nodes, "component", found.error);
  checkCycles(nodes, found.error);
  const scoped = nodes.find(({ object }) => object["scopes"] !== undefined);
  if (scoped !== undefined) found.warn([...scoped.path, "scopes"], "ignored", "scopes are ignored");
}

function checkPolicies(spec: JsonObject, found: ProblemCollector): void {
  const policies = listAt(spec, "policies").flatMap((object, index) =>
    isJsonObject(object) ? [{ object, name: textAt(object, "name") ?? "", path: ["spec", "policies", index] }] : [],
  );
  for (const { name, path, first } of repeated(policies))
    found.error([...path, "name"], "duplicate-name", `policy name "${name}" is already used at ${first}`);
  for (const { object, path, name } of policies) checkPolicy(object, path, name, found);
}

/** Of an Application, or a Policy of its own. */
function checkPolicy(
  policy: JsonObject,
  path: readonly (string | number)[],
  name: string,
  found: ProblemCollector,
): void {
  const { type, properties } = policy;
  const isEmpty = !isJsonObject(properties) || Object.keys(properties).length === 0;
  if (isEmpty && typeof type === "string" && type !== "debug")
    found.error([...path, "properties"], "required", `policy "${name}" of type ${type} must have properties`);
}

export function checkWorkflowRun(document: JsonObject, found: ProblemCollector): void {
  const { spec } = nameWorkflowRun(document);
  if (!isJsonObject(spec)) return;
  const hasSteps = isJsonObject(spec["workflowSpec"]);
  const ref = textAt(spec, "workflowRef");
  if (hasSteps && ref !== undefined)
    found.error(["spec", "workflowRef"], "forbidden", "cannot set workflowSpec and workflowRef at the same time");
  if (!hasSteps && ref === undefined) found.error(["spec"], "required", "workflowSpec or workflowRef is required");
  const mode = textAt(spec, "mode", "steps") ?? "StepByStep";
  checkSteps(valueOf(spec), ["spec", "workflowSpec", "steps"], { mode }, found);
}

const valueOf = (spec: JsonObject) => objectAt(spec, "workflowSpec")?.["steps"];

/** Components are those of the applications that refer to it. */
export function checkWorkflow(document: JsonObject, found: ProblemCollector): void {
  const workflow = nameWorkflow(document);
  const mode = textAt(workflow, "mode", "steps") ?? "StepByStep";
  checkSteps(workflow["steps"], ["steps"], { mode }, found);
}

export const checkPolicyObject = (document: JsonObject, found: ProblemCollector): void =>
  checkPolicy(document, [], textAt(document, "metadata", "name") ?? "", found);

/** Packages that come with Slipway cannot be replaced. */
export function checkPackage(document: JsonObject, { error }: ProblemCollector): void {
  const path = textAt(document, "spec", "path") ?? "";
  if (/^(?:vela|slipway)(?:\/|$)/.test(path))
    error(["spec", "path"], "forbidden", `${path}: paths below vela and slipway belong to shipped packages`);
}
