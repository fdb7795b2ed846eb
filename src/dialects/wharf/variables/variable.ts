// The value of a variable is a scalar as of YAML, with the type it has there: a boolean stays one when it is all of a text.

import type { Related, Scalar } from "../definition/node.ts";

/** Where a variable comes from; in this order the first that has it wins. */
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
  /** Decides whether it holds. */
  readonly source: SourceName;
  /** Never shown to people. */
  readonly isSecret?: boolean;
  /** Where it is defined, if that is a place in a file. */
  readonly definedAt?: Related;
}

/** The variables that hold, by name. */
export type Variables = ReadonlyMap<string, Variable>;

/** A variable among all that sources have; of several with one name all but one are overridden. */
export interface ListedVariable {
  readonly variable: Variable;
  readonly isOverridden: boolean;
}

/** All variables in the order of their sources; within a source the first of a name wins, too. */
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

/** Those that hold. */
export const resolveVariables = (given: readonly Variable[]): Variables =>
  new Map(
    listVariables(given).flatMap(({ variable, isOverridden }) => (isOverridden ? [] : [[variable.name, variable]])),
  );

/** What stands for a value that nobody may see. */
export const masked = "***";

/** The same variables for what is printed: secret values are stars, also where others are made of them. */
export const maskVariables = (variables: Variables): Variables =>
  new Map(
    [...variables].map(([name, variable]) => [
      name,
      variable.isSecret === true ? { ...variable, tag: "string", text: masked, value: masked } : variable,
    ]),
  );
