// The value of a variable is a YAML scalar and keeps its type if it is all of a text.

import type { Related, Scalar } from "../definition/node.ts";

/** Sources of variables; earlier ones win. */
export const sourceNames = [
  "input values",
  "input defaults",
  "environment",
  "build",
  "process environment",
  "variable files",
  "git",
] as const;
export type SourceName = (typeof sourceNames)[number];

export interface Variable extends Scalar {
  readonly name: string;
  readonly source: SourceName;
  readonly isSecret?: boolean;
  readonly definedAt?: Related;
}

export type Variables = ReadonlyMap<string, Variable>;

export interface ListedVariable {
  readonly variable: Variable;
  readonly isOverridden: boolean;
}

/** All variables by source; within a source the first of a name wins. */
export function listVariables(given: readonly Variable[]): readonly ListedVariable[] {
  const seen = new Set<string>();
  return sourceNames.flatMap((source) =>
    given
      .filter((variable) => variable.source === source)
      .map((variable) => {
        const isOverridden = seen.has(variable.name);
        seen.add(variable.name);
        return { variable, isOverridden };
      }),
  );
}

export const resolveVariables = (given: readonly Variable[]): Variables =>
  new Map(
    listVariables(given).flatMap(({ variable, isOverridden }) => (isOverridden ? [] : [[variable.name, variable]])),
  );

export const masked = "***";

/** Masks secret values, also where other variables contain them. */
export const maskVariables = (variables: Variables): Variables =>
  new Map(
    [...variables].map(([name, variable]) => [
      name,
      variable.isSecret === true ? { ...variable, tag: "string", text: masked, value: masked } : variable,
    ]),
  );
