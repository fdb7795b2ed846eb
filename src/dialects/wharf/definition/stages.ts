// The keys `environments` and `runs-if` (unless it is a map) describe the stage; all others are steps.

import type { RunsIf, Stage } from "./definition.ts";
import { reportUndeclared } from "./environments.ts";
import { below, type Reporter } from "./diagnostics.ts";
import { isNull, kindOf, type MapNode, type Member } from "./node.ts";
import { readStep } from "./steps.ts";
import { readText, spotOf } from "./values.ts";

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
