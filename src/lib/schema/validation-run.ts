import type { JsonValue, Result } from "#lib/base/index.ts";
import type { FieldError } from "./field-error.ts";
import type { ValidationRule } from "./schema.ts";

/** Errors reported for one object; a client that sends more mistakes than this has enough to begin with. */
export const mostErrors = 100;

/** One validation under way: where it is, and what it found. */
export interface ValidationRun {
  readonly path: (string | number)[];
  readonly errors: FieldError[];
  /** What the patterns of the schema may still cost; shared by everything that one object's validation tries. */
  readonly patternSteps: { left: number };
  /** Units that the rules of one object may spend together; below 0 no further rule is asked. */
  readonly ruleBudget: { left: number };
}

/** Ten times what one rule may spend, as in Kubernetes: a rule on the items of a list is asked once for each. */
export const mostRuleUnits = 10_000_000;

/**
 * Instructions times characters that the patterns of one validation may take: some three seconds at the very worst, a
 * fraction of that in practice. A pattern may have 10,000 instructions and an object three million characters: without
 * a bound that is half an hour in which the server does nothing else.
 */
export const mostPatternSteps = 60_000_000;

/** Errors beyond `mostErrors` are dropped. */
export function report(run: ValidationRun, error: FieldError): void {
  if (run.errors.length < mostErrors) run.errors.push(error);
}

/**
 * Adds what is wrong with the value to the run. `old` is the value this one replaces, when there is one: a value equal
 * to its old one is not looked at, so that a rule that came later does not block changes elsewhere.
 */
export type Check = (value: JsonValue, run: ValidationRun, old?: JsonValue) => void;

/** A compiled `x-kubernetes-validations` rule. */
export interface RuleProgram {
  /** A transition rule: it is asked where there is an old value, whether or not that has changed. */
  readonly usesOldSelf: boolean;
  /** A transition rule that is asked about new values as well (`optionalOldSelf`). */
  readonly runsWithoutOldSelf: boolean;
  /** What it spends is taken off the budget. */
  evaluate(self: JsonValue, oldSelf: JsonValue | undefined, budget: { left: number }): Result<true, RuleFailure>;
}

/** Why a value does not pass: the rule says no, it cannot be evaluated, or it costs more than a rule may. */
export interface RuleFailure {
  readonly kind: "refused" | "failed" | "cost";
  /** For the user. */
  readonly message: string;
}

/** Why a rule has no program: nobody could evaluate it, or this evaluator cannot. */
export interface RuleProblem {
  readonly kind: "invalid" | "unsupported";
  readonly message: string;
  /** Which part of the rule; the rule itself when absent. */
  readonly part?: "messageExpression" | "optionalOldSelf";
}

/** Compiles one rule. This folder does not know CEL; without a compiler, rules are not checked. */
export type CompileRule = (rule: ValidationRule) => Result<RuleProgram, RuleProblem>;
