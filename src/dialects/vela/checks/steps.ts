import {
  type FieldPath,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listAt,
  objectsAt,
  textAt,
  textsAt,
} from "#lib/base/index.ts";
import type { ProblemCollector } from "#kernel/dialect/index.ts";
import { parseTimeout } from "../durations.ts";
import { groupType } from "../parse.ts";
import { checkCycles, checkDependsOn, producersOf, stepNodes, variableOf } from "./dependencies.ts";
import { appliedBy, isGroup, type PlacedStep, placedSteps, repeated } from "./placed.ts";

/** What the steps belong to. */
export interface StepsContext {
  /** Components of the application; undefined if they are not known yet. */
  readonly components?: readonly JsonObject[] | undefined;
  /** How top-level steps are ordered. */
  readonly mode: string;
}

/** Reports everything wrong with steps that shows without other objects. Their names have been filled in. */
export function checkSteps(
  list: JsonValue | undefined,
  path: FieldPath,
  context: StepsContext,
  found: ProblemCollector,
): void {
  const steps = placedSteps(list, path);
  for (const { name, path: at, first } of repeated(steps))
    found.error([...at, "name"], "duplicate-name", `step name "${name}" is already used at ${first}`);
  for (const step of steps) {
    checkGroup(step, found);
    checkTimes(step, found);
    checkRendering(step, steps, found);
  }
  const nodes = stepNodes(steps);
  checkDependsOn(nodes, "step", found.error);
  checkCycles(nodes, found.error);
  checkInputs(steps, context, found);
  checkComponents(steps, context, found);
  if (context.mode === "StepByStep") checkOrder(steps, context, found);
}

function checkGroup(placed: PlacedStep, { error, warn }: ProblemCollector): void {
  const { step, path, group } = placed;
  if (group !== undefined) {
    if (isGroup(placed)) error([...path, "type"], "forbidden", "a step-group cannot contain another step-group");
    else if (step["subSteps"] !== undefined)
      error([...path, "subSteps"], "forbidden", "a sub-step cannot have sub-steps");
    return;
  }
  if (isGroup(placed)) {
    if (isJsonObject(step["properties"]) && Object.keys(step["properties"]).length > 0)
      warn([...path, "properties"], "ignored", "a step-group has no properties");
  } else if (listAt(step, "subSteps").length > 0)
    error([...path, "subSteps"], "forbidden", `only steps of type ${groupType} can have sub-steps`);
}

/** Fields of a step that hold durations. */
const durations: readonly (readonly string[])[] = [
  ["timeout"],
  ["retry", "backoff", "duration"],
  ["retry", "backoff", "cap"],
];

function checkTimes({ step, path, type }: PlacedStep, { error }: ProblemCollector): void {
  const fields = type === "suspend" ? [...durations, ["properties", "duration"]] : durations;
  for (const field of fields) {
    const text = textAt(step, ...field);
    const parsed = text === undefined ? undefined : parseTimeout(text);
    if (parsed?.ok === false) error([...path, ...field], "invalid-duration", `${parsed.error}; found "${text ?? ""}"`);
  }
}

const isPreRender = ({ step }: PlacedStep): boolean => step["stage"] === "pre-render";

/** Steps before rendering come first. */
function checkRendering(placed: PlacedStep, steps: readonly PlacedStep[], { warn }: ProblemCollector): void {
  if (!isPreRender(placed)) return;
  const isLate = steps.slice(0, placed.index).some((step) => step.group === undefined && !isPreRender(step));
  if (isLate) warn([...placed.path, "stage"], "order", "pre-render steps run first, whatever their place");
}

const isFree = (from: string): boolean => /^(?:context|parameter)\b/.test(from);

function checkInputs(
  steps: readonly PlacedStep[],
  { components = [] }: StepsContext,
  { warn }: ProblemCollector,
): void {
  const known = producersOf([...stepNodes(steps), ...components.map((object) => ({ object, name: "", path: [] }))]);
  for (const { step, path, name } of steps) {
    for (const [index, input] of objectsAt(step, "inputs").entries()) {
      const from = textAt(input, "from") ?? "";
      if (isFree(from) || variableOf(from, known) !== undefined) continue;
      const message = `no step outputs "${from}", which step "${name}" waits for`;
      warn([...path, "inputs", index, "from"], "unknown-input", message);
    }
  }
}

function checkComponents(
  steps: readonly PlacedStep[],
  { components }: StepsContext,
  { error }: ProblemCollector,
): void {
  if (components === undefined) return;
  const known = components.flatMap((component) => textAt(component, "name") ?? []);
  for (const placed of steps) {
    const component = appliedBy(placed);
    if (component === undefined || known.includes(component)) continue;
    const field = textAt(placed.step, "properties", "component") === undefined ? "name" : "component";
    error(
      [...placed.path, "properties", field],
      "unknown-component",
      `the application has no component "${component}"`,
    );
  }
}

/** A step that waits for a later one stops all others. */
function checkOrder(steps: readonly PlacedStep[], { components = [] }: StepsContext, { warn }: ProblemCollector): void {
  const top = steps.filter(({ group }) => group === undefined);
  for (const placed of top) {
    const { step, path, index } = placed;
    const applied = appliedBy(placed);
    const component = applied && components.find((each) => textAt(each, "name") === applied);
    for (const dependency of textsAt(component, "dependsOn")) {
      const of = top.filter((each) => appliedBy(each) === dependency);
      if (of.length === 0 || of.some((each) => each.index < index)) continue;
      const message = `component "${applied ?? ""}" depends on "${dependency}", which a later step applies`;
      warn([...path, "properties"], "order", message, "set mode.steps to DAG, or change the order");
    }
    for (const [at, dependency] of textsAt(step, "dependsOn").entries()) {
      const later = top.find(({ name }) => name === dependency);
      if (later === undefined || later.index <= index) continue;
      const message = `"${dependency}" comes later, so neither step starts`;
      warn([...path, "dependsOn", at], "order", message, "set mode.steps to DAG, or change the order");
    }
  }
}
