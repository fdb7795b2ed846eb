// The keys `environments` and `runs-if` (unless it is a map) describe the stage; all others are steps.

import { nearest } from "#lib/text/index.ts";
import type { RunsIf, Stage, Step, WrittenAt } from "./definition.ts";
import { below, type Reporter } from "./diagnostics.ts";
import { isEmpty, knownMembers, reportMissing } from "./fields.ts";
import { isNull, kindOf, type MapNode, type Member, type Node } from "./node.ts";
import { fieldsOf, isStepType, type StepType, stepTypes } from "./step-fields.ts";
import { checkStep } from "./step-rules.ts";
import { readBoolean, readText, readTextMap, readTexts, spotOf } from "./values.ts";
import { reportUndeclared } from "./environments.ts";

const conditions: readonly RunsIf[] = ["success", "fail", "always"];

/** Undefined, after reporting, if it is no stage. `declared` are the names of the environments. */
export function readStage(member: Member, declared: ReadonlySet<string>, reporter: Reporter): Stage | undefined {
  const { name, at, value } = member;
  const scope = below("", name);
  if (value.kind !== "map") {
    const meant = misspelled.get(name);
    const hint = meant === undefined ? undefined : `did you mean "${meant}"?`;
    reporter.error(spotOf(scope, value), "type", `expected map with the steps of the stage, found ${kindOf(value)}`, {
      hint,
    });
    return undefined;
  }
  const { isStep, runsIf } = readCondition(value, scope, reporter);
  const members = value.members.filter((inner) => inner.name !== "environments" && isStep(inner));
  if (members.length === 0) reporter.error({ scope, at }, "stage-empty", "a stage needs a step");
  const steps = members.flatMap((inner) => readStep(inner, scope, reporter) ?? []);
  const environments = readSelected(value, scope, declared, reporter);
  return { name, at, runsIf, environments, steps };
}

const misspelled: ReadonlyMap<string, string> = new Map([
  ["input", "inputs"],
  ["environment", "environments"],
]);

const isConditionKey = ({ name, value }: Member): boolean =>
  (name === "runs-if" || name === "run-if") && value.kind !== "map";

/** Both spellings are accepted: the original's parser reads one, its examples use the other. */
function readCondition({ members }: MapNode, scope: string, reporter: Reporter) {
  const keys = members.filter(isConditionKey);
  const [first, second] = keys;
  if (first !== undefined && second !== undefined) {
    const related = [{ message: `"${first.name}" is here`, place: first.at }];
    const spot = { scope: below(scope, second.name), at: second.at };
    reporter.error(spot, "run-condition", '"runs-if" and "run-if" are the same; one of them is enough', { related });
  }
  const isStep = (member: Member): boolean => !keys.includes(member);
  return { isStep, runsIf: first === undefined ? ("success" as const) : conditionOf(first, scope, reporter) };
}

/** An invalid condition is reported and treated as the default, so that the steps are still checked. */
function conditionOf({ name, value }: Member, scope: string, reporter: Reporter): RunsIf {
  const spot = below(scope, name);
  const text = readText(value, spot, reporter);
  const found = conditions.find((condition) => condition === text?.toLowerCase());
  if (text !== undefined && found === undefined)
    reporter.error(
      spotOf(spot, value),
      "run-condition",
      `expected success, fail or always, found ${JSON.stringify(text)}`,
    );
  return found ?? "success";
}

/** Each environment must be declared, even if the stage is not selected. */
function readSelected(
  { members }: MapNode,
  stage: string,
  declared: ReadonlySet<string>,
  reporter: Reporter,
): readonly string[] {
  const value = members.find(({ name }) => name === "environments")?.value;
  if (value === undefined) return [];
  const scope = below(stage, "environments");
  if (isNull(value)) {
    reporter.warn(spotOf(scope, value), "type", "expected list of environments, found null; there are none");
    return [];
  }
  if (value.kind !== "list") {
    reporter.error(spotOf(scope, value), "type", `expected list of environments, found ${kindOf(value)}`);
    return [];
  }
  return value.items.flatMap((item, index) => {
    const spot = spotOf(`${scope}[${index}]`, item);
    const name = readText(item, spot.scope, reporter);
    if (name === "") reporter.error(spot, "env-name-empty", "the name of an environment must not be empty");
    else if (name !== undefined && !declared.has(name)) reportUndeclared(spot, name, declared, reporter);
    return name === undefined || name === "" ? [] : [name];
  });
}

// A step is a map with one member: its type with its fields, as in `web: {docker: {file: Dockerfile, tag: latest}}`.

function readStep({ name, at, value }: Member, stage: string, reporter: Reporter): Step | undefined {
  const scope = below(stage, name);
  if (value.kind !== "map") {
    const message = `expected map with the type of the step, found ${kindOf(value)}`;
    reporter.error(spotOf(scope, value), "type", message);
    return undefined;
  }
  if (value.members.length === 0) {
    reporter.error({ scope, at }, "step-empty", `a step needs a type: ${stepTypes.join(", ")}`);
    return undefined;
  }
  if (value.members.length > 1) {
    const found = value.members.map((member) => member.name).join(", ");
    reporter.error({ scope, at }, "step-multi", `a step has one type, found ${found.slice(0, 200)}`);
  }
  const steps = value.members.map((member) => readTyped(name, member, scope, reporter));
  return steps.length === 1 ? steps[0] : undefined;
}

function readTyped(name: string, member: Member, outer: string, reporter: Reporter): Step | undefined {
  const scope = below(outer, member.name);
  if (!isStepType(member.name)) {
    const meant = nearest(member.name, stepTypes, 4);
    const hint = meant === undefined ? `types are ${stepTypes.join(", ")}` : `did you mean "${meant}"?`;
    reporter.error({ scope, at: member.at }, "step-type-unknown", `"${member.name}" is no type of steps`, { hint });
    return undefined;
  }
  if (member.value.kind !== "map") {
    const message = `expected map with the fields of the step, found ${kindOf(member.value)}`;
    reporter.error(spotOf(scope, member.value), "type", message);
    return undefined;
  }
  const type = member.name;
  const members = knownMembers(member.value.members, scope, Object.keys(fieldsOf(type)), reporter);
  const { values, places } = readFields(type, members, { scope, at: member.at }, reporter);
  const step = { name, type, scope, at: member.at, values, places } as unknown as Step;
  checkStep(step, reporter);
  const isComplete = Object.entries(fieldsOf(type)).every(([field, { isRequired }]) => !isRequired || field in values);
  return isComplete ? step : undefined;
}

function readFields(
  type: StepType,
  members: ReadonlyMap<string, Member>,
  spot: { readonly scope: string; readonly at: Member["at"] },
  reporter: Reporter,
) {
  const values: Record<string, unknown> = {};
  const places = new Map<string, WrittenAt>();
  for (const [name, { kind, isRequired, initial }] of Object.entries(fieldsOf(type))) {
    const member = members.get(name);
    if (member === undefined) {
      if (isRequired) reportMissing(spot, name, reporter);
      if (initial !== undefined) values[name] = initial;
      continue;
    }
    const { value } = member;
    const scope = below(spot.scope, name);
    places.set(name, writtenAt(value));
    if (isRequired && isEmpty(value)) reportMissing({ ...spotOf(scope, value), scope: spot.scope }, name, reporter);
    const read = readers[kind](value, scope, reporter) ?? initial;
    if (read !== undefined) values[name] = read;
  }
  return { values, places };
}

function writtenAt(node: Node): WrittenAt {
  const { at } = node;
  if (node.kind === "list") return { at, items: node.items.map(writtenAt) };
  return node.kind === "scalar" && node.madeOf !== undefined ? { at, madeOf: node.madeOf } : { at };
}

const readers = { text: readText, boolean: readBoolean, texts: readTexts, map: readTextMap } as const;
