import type { FieldPath } from "#lib/base/index.ts";
import type { Param, WorkflowSpec, WorkflowStep } from "../kinds.ts";
import type { Report } from "#kernel/dialect/index.ts";
import { membersOf, type StepSource, stepTypes } from "./step-source.ts";

/** Limits of steps, characters of a key (a label value), and the default seconds of final steps. */
export const limits = { steps: 1_000, keyLength: 63, finallyDeadlineSeconds: 600 } as const;

const keyShape = /^[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?$/;

export const isStepKey = (key: string): boolean => key.length <= limits.keyLength && keyShape.test(key);

/** False, and reported, if there are too many; then check no further. */
export function checkStepCount(count: number, report: Report): boolean {
  if (count <= limits.steps) return true;
  report(["spec", "steps"], "too-many-steps", `expected at most ${limits.steps} steps, found ${count}`);
  return false;
}

export function checkSteps(sources: readonly StepSource[], report: Report): void {
  const main = sources.filter((source) => !source.final);
  if (main.length === 0) report(["spec", "steps"], "no-steps", "at least one step is required");
  checkKeys(sources, report);
  for (const source of sources) checkUnion(source, report);
}

/** Keys are label values, members of expressions, and unique over both parts. */
function checkKeys(sources: readonly StepSource[], report: Report): void {
  const byName = new Map<string, StepSource>();
  for (const source of sources) {
    if (!isStepKey(source.key)) {
      const message = `expected a key of 1 to ${limits.keyLength} letters, digits, "-" and "_" that begins and ends with a letter or digit, found ${JSON.stringify(source.key)}`;
      report(source.path, "invalid-key", message);
    }
    const name = expressionName(source.key);
    const other = byName.get(name);
    if (other === undefined) byName.set(name, source);
    else if (other.key === source.key)
      report(source.path, "duplicate-key", `the key "${source.key}" is used in steps and in finally`);
    else report(source.path, "ambiguous-key", `"${source.key}" and "${other.key}" have the same name in expressions`);
  }
}

/** In expressions "-" means minus. */
export const expressionName = (key: string): string => key.replaceAll("-", "_");

/** Steps by key, and with `_` for `-`. Keys win. */
export function stepsByName(sources: readonly StepSource[]): ReadonlyMap<string, StepSource> {
  const byName = new Map(sources.map((source) => [source.key, source]));
  for (const source of sources) {
    const name = expressionName(source.key);
    if (!byName.has(name)) byName.set(name, source);
  }
  return byName;
}

/** Counts unsupported types, too: they are refused for that alone. */
function checkUnion({ path, step }: StepSource, report: Report): void {
  const members = membersOf(step);
  if (members.length === 1) return;
  const found = members.length === 0 ? "none" : members.join(" and ");
  report(path, "not-exactly-one", `exactly one of ${stepTypes.join(", ")} is required, found ${found}`);
}

/** Reserved fields of later versions, with their names in messages. */
const reservedInStep = {
  patch: "patch steps",
  http: "http steps",
  pendingTimeoutSeconds: "pendingTimeoutSeconds",
} as const satisfies Partial<Record<keyof WorkflowStep, string>>;

const reservedInSpec = {
  archive: "the archive",
  serviceAccountName: "serviceAccountName; write it into the jobTemplate",
  podDefaults: "podDefaults; write them into the jobTemplate",
} as const satisfies Partial<Record<keyof WorkflowSpec, string>>;

export const isReserved = (field: string): boolean => Object.hasOwn(reservedInSpec, field);

/** Inputs become outputs, which are stored in the status. */
const reservedInInput = { secret: "secret inputs of approvals" } as const satisfies Partial<
  Record<keyof Param, string>
>;

export function checkReserved(spec: WorkflowSpec, sources: readonly StepSource[], report: Report): void {
  refuse(spec, namesOf(reservedInSpec), reservedInSpec, ["spec"], report);
  const names = namesOf(reservedInStep);
  for (const { step, path } of sources) {
    for (const [index, input] of (step.approval?.inputs ?? []).entries())
      refuse(input, namesOf(reservedInInput), reservedInInput, [...path, "approval", "inputs", index], report);
    refuse(step, names, reservedInStep, path, report);
  }
}

const namesOf = <K extends string>(literal: Readonly<Record<K, string>>): readonly K[] => Object.keys(literal) as K[];

function refuse<K extends string>(
  object: { readonly [P in K]?: unknown },
  names: readonly K[],
  what: Readonly<Record<K, string>>,
  path: FieldPath,
  report: Report,
): void {
  for (const name of names) {
    // `secret: false` requests nothing.
    if (object[name] === undefined || object[name] === false) continue;
    report([...path, name], "not-carried", `this version does not carry ${what[name]}`);
  }
}
