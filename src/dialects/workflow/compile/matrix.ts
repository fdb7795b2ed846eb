import {
  err,
  type FieldPath,
  isJsonObject,
  jsonEquals,
  type JsonObject,
  type JsonValue,
  ok,
  type Result,
} from "#lib/base/index.ts";
import { compareBytes } from "#engine/index.ts";

export type Axes = readonly (readonly [string, readonly JsonValue[]])[];

interface Matrix {
  readonly include?: readonly JsonObject[];
  readonly exclude?: readonly JsonObject[];
}

/** One more than the largest limit, which fails the step. */
const mostCombinations = 10_001;

/** Sorted by name, because Kubernetes clients do not keep member order. */
export function axesOf(
  matrix: Matrix,
): Result<Axes, readonly { readonly field: FieldPath; readonly message: string }[]> {
  const { include, exclude: _exclude, ...rest } = matrix;
  const axes: [string, readonly JsonValue[]][] = [];
  const wrong: { field: FieldPath; message: string }[] = [];
  for (const [name, values] of Object.entries<unknown>(rest)) {
    if (isList(values) && values.length > 0) axes.push([name, values]);
    else
      wrong.push({ field: [name], message: `expected a list of at least one value, found ${JSON.stringify(values)}` });
  }
  if (axes.length === 0 && wrong.length === 0 && (include ?? []).length === 0)
    wrong.push({ field: [], message: "expected at least one axis" });
  return wrong.length > 0 ? err(wrong) : ok(axes.sort(([a], [b]) => compareBytes(a, b)));
}

const isList = (value: unknown): value is readonly JsonValue[] => Array.isArray(value);

/** Every combination of the axes, the last changing first. An `include` that fits none is added. */
export function combinationsOf({ include = [], exclude = [] }: Matrix, axes: Axes): readonly JsonObject[] {
  const original = product(axes).filter((combination) => !exclude.some((part) => contains(combination, part)));
  const added: JsonObject[] = original.map((combination) => ({ ...combination }));
  const alone: JsonObject[] = [];
  for (const members of include) {
    const fits = (combination: JsonObject) =>
      axes.every(([name]) => members[name] === undefined || jsonEquals(members[name], combination[name] ?? null));
    let isAdded = false;
    for (const [at, combination] of original.entries()) {
      if (!fits(combination)) continue;
      added[at] = { ...added[at], ...members };
      isAdded = true;
    }
    if (!isAdded) alone.push(members);
  }
  return [...added, ...alone];
}

function product(axes: Axes): readonly JsonObject[] {
  if (axes.length === 0) return [];
  let combinations: readonly JsonObject[] = [{}];
  for (const [name, values] of axes) {
    const next: JsonObject[] = [];
    for (const combination of combinations) {
      for (const value of values) if (next.length < mostCombinations) next.push({ ...combination, [name]: value });
    }
    combinations = next;
  }
  return combinations;
}

const contains = (combination: JsonObject, part: JsonObject): boolean =>
  isJsonObject(part) &&
  Object.entries(part).every(([name, value]) => jsonEquals(combination[name] ?? null, value ?? null));
