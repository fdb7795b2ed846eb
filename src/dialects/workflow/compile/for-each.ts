import { err, type FieldPath, type JsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { type Fan, type GateScope, reasons } from "#engine/index.ts";
import type { ForEach } from "../kinds.ts";
import type { Report } from "#kernel/dialect/index.ts";
import type { CompiledForEach, CompiledStep } from "./compiled.ts";
import { mostInWorkflow } from "./artifacts.ts";
import type { CompiledExpression } from "./expressions.ts";
import { lockNames } from "./locks.ts";
import { axesOf, combinationsOf } from "./matrix.ts";
import { evaluate, evaluateCondition, type RunValues, runValues, type StaticValues } from "./values.ts";

/** Default limit of one step, and limit of all steps of a workflow together. */
const usualLimit = 256;
const mostItems = 20_000;

/** Exactly one source of items. Undefined, and reported, if invalid. */
export function compileForEach(
  forEach: ForEach,
  { from, when }: Readonly<Record<"from" | "when", CompiledExpression | undefined>>,
  path: FieldPath,
  report: Report,
): CompiledForEach | undefined {
  const given = [forEach.items, forEach.from, forEach.matrix].filter((source) => source !== undefined);
  if (given.length !== 1) {
    report(path, "not-exactly-one", "exactly one of items, from and matrix is required");
    return undefined;
  }
  const axes = forEach.matrix === undefined ? ok([]) : axesOf(forEach.matrix);
  if (!axes.ok) {
    for (const { field, message } of axes.error) report([...path, "matrix", ...field], "invalid-value", message);
    return undefined;
  }
  const items = forEach.matrix === undefined ? (forEach.items ?? from) : combinationsOf(forEach.matrix, axes.value);
  if (items === undefined) return undefined;
  const { limit = usualLimit, maxParallel, failFast = false } = forEach;
  if (!("program" in items) && items.length > limit)
    report(
      [...path, forEach.matrix === undefined ? "items" : "matrix"],
      "too-many-items",
      tooMany(items.length, limit),
    );
  return { items, when, limit, failFast, ...(maxParallel === undefined ? {} : { maxParallel }) };
}

const tooMany = (count: number, limit: number): string =>
  `${count} items, at most ${limit} are allowed by forEach.limit`;

interface NoItems {
  readonly reason: string;
  readonly error: string;
}

/** The items in order. O(1) for a written list, else one evaluation. */
export function itemsOf(
  { forEach }: CompiledStep,
  values: StaticValues,
  run: RunValues,
): Result<readonly JsonValue[], NoItems> {
  if (forEach === undefined) return ok([]);
  const { items, limit } = forEach;
  const found = "program" in items ? evaluate(items, values, run) : ok(items);
  if (!found.ok) return err({ reason: reasons.expressionError, error: `forEach.from: ${found.error}` });
  if (!isList(found.value)) {
    const error = `forEach.from: expected a list, found ${JSON.stringify(found.value).slice(0, 100)}`;
    return err({ reason: reasons.expressionError, error });
  }
  if (found.value.length <= limit) return ok(found.value);
  return err({
    reason: "TooManyItems",
    error: tooMany(found.value.length, limit),
  });
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);

/** The number of items and those to skip, or what is wrong with the first invalid one. O(items). */
export function countItems(
  step: CompiledStep,
  values: StaticValues,
  run: RunValues,
  items: readonly JsonValue[],
): ReturnType<Fan["count"]> {
  const when = step.forEach?.when;
  if (when === undefined && step.locks === undefined) return { count: items.length };
  const skipped: number[] = [];
  for (const [index, value] of items.entries()) {
    const local = itemValues(index, value);
    const wanted = when === undefined ? ok(true) : evaluateCondition(when, values, { ...run, local });
    if (!wanted.ok) return { error: `forEach.when: item ${index}: ${wanted.error}` };
    if (!wanted.value) {
      skipped.push(index);
      continue;
    }
    const names = lockNames(step, values, run, local);
    if (!names.ok) return { error: `item ${index}: ${names.error}` };
  }
  return { count: items.length, skipped };
}

export function fanOf(step: CompiledStep, values: StaticValues): Fan {
  const { maxParallel, failFast = false } = step.forEach ?? {};
  return {
    count: (scope) => {
      const items = itemsOf(step, values, runValues(scope));
      if (!items.ok) return items.error;
      const others = otherItems(step, values, scope);
      const count = items.value.length;
      const left = count * step.leaves.length;
      if (left > mostInWorkflow)
        return {
          reason: "TooManyItems",
          error: `${left} artifacts of ${count} items, at most ${mostInWorkflow} are kept`,
        };
      if (count + others <= mostItems) return countItems(step, values, runValues(scope), items.value);
      const error = `${count} items beside the ${others} of other steps, at most ${mostItems} are allowed in a workflow`;
      return { reason: "TooManyItems", error };
    },
    failFast,
    outputs: step.outputs.map(({ name }) => name),
    ...(maxParallel === undefined ? {} : { maxParallel }),
    ...((step.step.locks ?? []).length === 0 ? {} : { admission: "Lock" }),
  };
}

const otherItems = ({ key }: CompiledStep, { steps }: StaticValues, scope: GateScope): number =>
  [...steps.values()]
    .filter((other) => other.forEach !== undefined && other.key !== key)
    .reduce((sum, other) => sum + (scope.state(other.key).items?.total ?? 0), 0);

export const itemValues = (index: number, value: JsonValue): JsonObject => ({ item: value, index });
