import { type FieldPath, isJsonObject, type JsonObject, listAt, objectAt, objectsAt, textAt } from "#lib/base/index.ts";
import type { ProblemCollector } from "#kernel/dialect/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import type { Definition, Definitions, DefinitionType } from "../definitions/definition.ts";
import { notFoundMessage } from "../definitions/find.ts";
import { Application, Workflow, WorkflowRun } from "../kinds.ts";
import { nameApplication, nameWorkflow, nameWorkflowRun } from "../names.ts";
import { groupType } from "../parse.ts";
import { conditionFaults } from "./condition.ts";
import { parameterFaults } from "./parameter.ts";
import { appliedBy, placedSteps } from "./placed.ts";

export interface DefinitionChecks {
  readonly definitions: Definitions;
  readonly cue: Pick<Cue, "schema" | "references">;
  readonly systemNamespace: string;
  readonly namespace: string;
  /** Definitions may come later: unknown ones are warnings. */
  readonly isOpen: boolean;
  readonly signal?: AbortSignal;
}

/** A type that a document names, with its properties. */
interface Use {
  readonly type: DefinitionType;
  readonly path: FieldPath;
  readonly object: JsonObject;
  /** Properties may come from elsewhere. */
  readonly isPartial: boolean;
}

/**
 * Reports what shows only with definitions and CUE: unknown types, wrong properties, and texts that are not CUE. The
 * document has been checked without them.
 */
export async function checkDefinitions(
  document: JsonObject,
  checks: DefinitionChecks,
  found: ProblemCollector,
): Promise<void> {
  const uses = usesOf(document);
  const known = new Map<string, Promise<Definition | undefined>>();
  for (const { type, path, object, isPartial } of uses) {
    const name = textAt(object, "type") ?? "";
    const key = `${type}/${name}`;
    const search = known.get(key) ?? checks.definitions.find(type, name, checks.namespace);
    known.set(key, search);
    const definition = await search;
    if (definition === undefined) await reportUnknown(type, name, path, checks, found);
    else if (definition.template !== "") await checkProperties(definition, { path, object, isPartial }, checks, found);
  }
  await checkExpressions(document, checks, found);
}

/** Reports conditions and outputs of steps that are wrong whatever the definitions say. */
export async function checkExpressions(
  document: JsonObject,
  { cue, signal }: Pick<DefinitionChecks, "cue" | "signal">,
  { error }: ProblemCollector,
): Promise<void> {
  const placed = placedIn(document);
  const own = objectsAt(document, "spec", "components").flatMap((component) => textAt(component, "name") ?? []);
  const scope = {
    steps: new Set(placed.map(({ name }) => name)),
    components: new Set([...own, ...placed.flatMap((step) => appliedBy(step) ?? [])]),
  };
  for (const { step, path } of placed) {
    const condition = textAt(step, "if");
    const faults = condition === undefined ? [] : await conditionFaults(condition, scope, cue, signal);
    for (const { message, at, hint } of faults)
      error([...path, "if"], "invalid-condition", `at character ${at + 1}: ${message}`, hint);
    for (const [index, output] of objectsAt(step, "outputs").entries()) {
      const text = textAt(output, "valueFrom");
      const read = text === undefined ? undefined : await cue.references(text, signal);
      if (read?.ok !== false || read.error.kind !== "template") continue;
      const problem = read.error.problems[0]?.message ?? read.error.message;
      error([...path, "outputs", index, "valueFrom"], "invalid-condition", `not a CUE expression: ${problem}`);
    }
  }
}

/** The definitions that a document needs, each once. */
export function usedTypes(document: JsonObject): readonly { readonly type: DefinitionType; readonly name: string }[] {
  const uses = usesOf(document).map(({ type, object }) => ({ type, name: textAt(object, "type") ?? "" }));
  return [...new Map(uses.map((use) => [`${use.type}/${use.name}`, use])).values()];
}

async function reportUnknown(
  type: DefinitionType,
  name: string,
  path: FieldPath,
  { definitions, namespace, systemNamespace, isOpen }: DefinitionChecks,
  { warn, error }: ProblemCollector,
): Promise<void> {
  const message = await notFoundMessage(definitions, { type, name, namespace, systemNamespace });
  if (isOpen) warn([...path, "type"], "unknown-definition", message);
  else error([...path, "type"], "unknown-definition", message);
}

async function checkProperties(
  { template, imports }: Definition,
  { path, object, isPartial }: Omit<Use, "type">,
  { cue, signal }: DefinitionChecks,
  { error }: ProblemCollector,
): Promise<void> {
  const schema = await cue.schema(template, signal, imports?.sources);
  // What is wrong with the definition is in its own status.
  if (!schema.ok) return;
  const properties = objectAt(object, "properties") ?? {};
  for (const fault of parameterFaults(schema.value, properties, { isPartial }))
    error([...path, "properties", ...fault.path], "invalid-parameter", fault.message);
}

function usesOf(document: JsonObject): readonly Use[] {
  const isApplication = document["kind"] === Application.kind;
  const spec = isApplication ? objectAt(nameApplication(document), "spec") : undefined;
  const policies = objectsAt(spec, "policies");
  // Overrides complete components when they are deployed.
  const isOverridden = policies.some(({ type }) => type === "override");
  const components = listAt(spec, "components").flatMap((object, index) =>
    isJsonObject(object) ? usesOfComponent(object, ["spec", "components", index], isOverridden) : [],
  );
  const ownPolicies = policies.map((object, index) => ({
    type: "policy" as const,
    path: ["spec", "policies", index],
    object,
    isPartial: false,
  }));
  return [...components, ...ownPolicies, ...usesOfSteps(document)];
}

function usesOfComponent(object: JsonObject, path: FieldPath, isOverridden: boolean): readonly Use[] {
  const isPartial = isOverridden || listAt(object, "inputs").length > 0;
  const traits = objectsAt(object, "traits").map((trait, at) => ({
    type: "trait" as const,
    path: [...path, "traits", at],
    object: trait,
    isPartial,
  }));
  return [{ type: "component", path, object, isPartial }, ...traits];
}

/** Where a document has its steps. */
function stepsIn(document: JsonObject) {
  const { kind } = document;
  if (kind === Workflow.kind) return { path: ["steps"], steps: nameWorkflow(document)["steps"] };
  const member = kind === Application.kind ? "workflow" : kind === WorkflowRun.kind ? "workflowSpec" : undefined;
  if (member === undefined) return { path: [], steps: undefined };
  const named = kind === Application.kind ? nameApplication(document) : nameWorkflowRun(document);
  return { path: ["spec", member, "steps"], steps: objectAt(named, "spec", member)?.["steps"] };
}

const placedIn = (document: JsonObject) => {
  const { path, steps } = stepsIn(document);
  return placedSteps(steps, path);
};

const usesOfSteps = (document: JsonObject): readonly Use[] =>
  placedIn(document).flatMap(({ step, path, type }) =>
    type === groupType
      ? []
      : [{ type: "workflow-step", path, object: step, isPartial: listAt(step, "inputs").length > 0 }],
  );
