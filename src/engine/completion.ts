import type { GroupKind } from "./view.ts";

/** `unknown`: no rule can read the object. */
export type Completion = "succeeded" | "failed" | "running" | "unknown";

/** Conditions about older generations count as absent. */
export type CompletionTest =
  | { readonly condition: string; readonly status: "True" | "False"; readonly reason?: string }
  /** The value at a path is one of these. */
  | { readonly path: readonly string[]; readonly oneOf: readonly (string | number | boolean)[] }
  /** The value at a path is the generation, or equals another path's. */
  | { readonly path: readonly string[]; readonly equals: "generation" | readonly string[] }
  /** Always true. */
  | { readonly exists: true }
  | { readonly all: readonly CompletionTest[] };

/** Rules of some kinds, or of all without `kinds`. `failed` comes first; any test suffices. */
export interface CompletionRule {
  readonly kinds?: readonly GroupKind[];
  readonly succeeded: readonly CompletionTest[];
  readonly failed: readonly CompletionTest[];
}

/** The first rule's answer, else `running` or `unknown`. `since`: the required generation. Never throws. */
export function completionOf(
  object: unknown,
  rules: readonly CompletionRule[],
  since: unknown = valueAt(object, generationPath),
): Completion {
  let isKnown = arrayAt(object, conditionsPath).length > 0;
  for (const rule of rules) {
    if (!matches(object, rule)) continue;
    if (rule.kinds !== undefined) isKnown = true;
    if (rule.failed.some((test) => holds(object, test, since))) return "failed";
    if (rule.succeeded.some((test) => holds(object, test, since))) return "succeeded";
  }
  return isKnown ? "running" : "unknown";
}

const conditionsPath = ["status", "conditions"];
const generationPath = ["metadata", "generation"];

function matches(object: unknown, { kinds }: CompletionRule): boolean {
  if (kinds === undefined) return true;
  const apiVersion = valueAt(object, ["apiVersion"]);
  const slash = typeof apiVersion === "string" ? apiVersion.indexOf("/") : -1;
  const group = typeof apiVersion === "string" && slash >= 0 ? apiVersion.slice(0, slash) : "";
  const kind = valueAt(object, ["kind"]);
  return kinds.some((wanted) => wanted.kind === kind && wanted.group === group);
}

function holds(object: unknown, test: CompletionTest, since: unknown): boolean {
  if ("exists" in test) return true;
  if ("all" in test) return test.all.every((inner) => holds(object, inner, since));
  if ("condition" in test) return holdsCondition(object, test, since);
  const value = valueAt(object, test.path);
  if ("oneOf" in test) return test.oneOf.some((wanted) => wanted === value);
  const other = valueAt(object, test.equals === "generation" ? generationPath : test.equals);
  return value !== undefined && value === other;
}

function holdsCondition(
  object: unknown,
  test: Extract<CompletionTest, { condition: string }>,
  since: unknown,
): boolean {
  return arrayAt(object, conditionsPath).some((condition) => {
    const observed = valueAt(condition, ["observedGeneration"]);
    const isOld = typeof observed === "number" && typeof since === "number" && observed < since;
    return (
      !isOld &&
      valueAt(condition, ["type"]) === test.condition &&
      valueAt(condition, ["status"]) === test.status &&
      (test.reason === undefined || valueAt(condition, ["reason"]) === test.reason)
    );
  });
}

function valueAt(object: unknown, path: readonly string[]): unknown {
  let value = object;
  for (const name of path) {
    if (!isRecord(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

function arrayAt(object: unknown, path: readonly string[]): readonly unknown[] {
  const value = valueAt(object, path);
  return Array.isArray(value) ? value : [];
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
