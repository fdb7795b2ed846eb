import { type FieldPath, formatFieldPath, type JsonValue } from "#lib/base/index.ts";
import { compileDefaults } from "./defaults.ts";
import { type FieldError, fieldError } from "./field-error.ts";
import { compilePrune } from "./prune.ts";
import { compileRuleChecks } from "./rule-checks.ts";
import type { Schema } from "./schema.ts";
import { compileValidation } from "./validate.ts";
import { type CompileRule, mostPatternSteps, mostRuleUnits, type ValidationRun } from "./validation-run.ts";
import type { ResolveRef } from "./walk.ts";

export interface CompileOptions {
  /** Finds what a `$ref` names; schemas of CustomResourceDefinitions have none. */
  readonly resolve?: ResolveRef;
  /** Compiles `x-kubernetes-validations`; without it rules are not checked. */
  readonly compileRule?: CompileRule;
}

/**
 * A schema made into functions, once. All are pure, never change their argument, and return the argument itself when
 * nothing had to change. Parts of the schema are compiled when a value first needs them.
 */
export interface CompiledSchema {
  /**
   * Drops members the schema does not know, and nulls where null means nothing. `unknown` holds the paths of the
   * former. Parts that are the very objects `known` has in their place count as pruned.
   */
  readonly prune: (
    value: JsonValue,
    known?: JsonValue,
  ) => { readonly value: JsonValue; readonly unknown: readonly string[] };
  readonly withDefaults: (value: JsonValue) => JsonValue;
  /** At most 100 errors. With `old`, errors in parts that did not change are left out. */
  readonly validate: (
    value: JsonValue,
    options?: { readonly old?: JsonValue; readonly at?: FieldPath },
  ) => readonly FieldError[];
}

/** Compiles a structural schema. */
export function compileSchema(schema: Schema, options: CompileOptions = {}): CompiledSchema {
  const prune = compilePrune(schema, options.resolve);
  const withDefaults = compileDefaults(schema, options.resolve);
  const check = compileValidation(schema, options.resolve);
  const askRules = compileRuleChecks(schema, options.resolve, options.compileRule);
  return {
    prune(value, known) {
      // Paths become text only when there are any.
      const unknown: FieldPath[] = [];
      const pruned = prune(value, { path: [], unknown }, known);
      return { value: pruned, unknown: unknown.map(formatFieldPath) };
    },
    withDefaults,
    validate(value, { old, at = [] } = {}) {
      const run: ValidationRun = {
        path: [...at],
        errors: [],
        patternSteps: { left: mostPatternSteps },
        ruleBudget: { left: mostRuleUnits },
      };
      check(value, run, old);
      askRules?.(value, run, old);
      // Checks of patterns pass once the steps are spent; the object does not.
      const detail = "matching the patterns of its schema takes too long";
      return run.patternSteps.left < 0 ? [fieldError.forbidden(at, detail), ...run.errors] : run.errors;
    },
  };
}
