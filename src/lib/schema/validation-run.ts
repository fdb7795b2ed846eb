import type { JsonValue, Result } from "#lib/base/index.ts";
import type { FieldError } from "./field-error.ts";
import type { ValidationRule } from "./schema.ts";

/** Errors reported for one object; a client that sends more mistakes than this has enough to begin with. */
export const mostErrors = 100;

/** One validation under way: where it is, and what it found. */
export interface ValidationRun {
  readonly path: (string | number)[];
  readonly errors: FieldError[];
  /** How many of the errors are those of rules: a value that a rule refuses is still what its schema says. */
  readonly ofRules: { count: number };
  /** What the patterns of the schema may still cost; shared by everything that one object's validation tries. */
  readonly patternSteps: { left: number };
}

/**
 * Instructions times characters that the patterns of one validation may take: some three seconds at the very worst, a fraction
 * of that in practice. A pattern may have 10,000 instructions and an object three million characters: without a bound that is
 * half an hour in which the server does nothing else.
 */
export const mostPatternSteps = 60_000_000;

/** Errors beyond `mostErrors` are dropped. */
export function report(run: ValidationRun, error: FieldError): void {
  if (run.errors.length < mostErrors) run.errors.push(error);
}

/** As report, for what a rule refuses. */
export function reportRule(run: ValidationRun, error: FieldError): void {
  if (run.errors.length < mostErrors) run.ofRules.count += 1;
  report(run, error);
}

/**
 * Adds what is wrong with the value to the run. `old` is the value this one replaces, when there is one: a value equal to its old
 * one is not looked at, so that a rule that came later does not block changes elsewhere.
 */
export type Check = (value: JsonValue, run: ValidationRun, old?: JsonValue) => void;

/** A compiled `x-kubernetes-validations` rule. `usesOldSelf` rules run only when there is an old value. */
export interface RuleProgram {
  readonly usesOldSelf: boolean;
  /** The error is the message for the user. */
  evaluate(self: JsonValue, oldSelf: JsonValue | undefined): Result<true, string>;
}

/** Why a rule has no program: nobody could evaluate it, or this evaluator cannot. */
export interface RuleProblem {
  readonly kind: "invalid" | "unsupported";
  readonly message: string;
}

/** Compiles one rule. This folder does not know CEL; without a compiler, rules are not checked. */
export type CompileRule = (rule: ValidationRule) => Result<RuleProgram, RuleProblem>;
