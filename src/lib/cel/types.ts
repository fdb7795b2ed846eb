import type { JsonValue, Result } from "#lib/base/index.ts";

/** The type of a variable, parameter or result, in CEL's words, also `list<string>` and `map<string, dyn>`. */
export type CelType = "dyn" | "bool" | "int" | "uint" | "double" | "string" | "list" | "map" | (string & {});

/**
 * Values of variables. Integers of JSON become CEL `int`, other numbers `double`; `int` and `double` may be mixed in
 * arithmetic. Objects must not change while an evaluation runs; frozen ones are converted only once.
 */
export type CelBindings = Readonly<Record<string, JsonValue | undefined>>;

/** A function beyond CEL's own, such as `success(): bool` or `string.shout(): string`. */
export interface CelFunction {
  /** `name(types): type`, or `type.name(types): type` for a method. */
  readonly signature: string;
  /** Must be pure: same arguments and bindings, same answer. Throwing makes the evaluation fail with that message. */
  readonly call: (args: readonly JsonValue[], bindings: CelBindings) => JsonValue;
}

export interface CelEnvironment {
  readonly variables: Readonly<Record<string, CelType>>;
  readonly functions?: readonly CelFunction[];
}

/**
 * What is wrong with an expression. `unknown-function` is a name nobody declared, which a newer Kubernetes may know;
 * `type` is everything else that the checker refuses. `column` and `line` count from 1, in UTF-16 code units.
 */
export interface CelProblem {
  readonly kind: "syntax" | "unknown-variable" | "unknown-function" | "type";
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** One use of a variable: `steps.build.outputs["x"]` has root `steps` and path `build, outputs, x`. */
export interface CelReference {
  readonly root: string;
  /** Members with constant names, up to the first that is computed. */
  readonly path: readonly string[];
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
}

export interface CelReferences {
  /** Uses of the environment's variables, in order of appearance; variables of macros are not among them. */
  readonly variables: readonly CelReference[];
  /** Names of all functions and methods called, each once. */
  readonly functions: readonly string[];
}

export interface CelEvaluateOptions {
  /** Units one evaluation may spend; 100,000 unless told. About one unit per node evaluated or ten characters read. */
  readonly costLimit?: number;
  /** A budget of several evaluations; each takes off what it spends, also below 0. It does not end one. */
  readonly budget?: { left: number };
}

/** A checked expression; may be evaluated any number of times. */
export interface CelProgram {
  readonly source: string;
  /** Static type of the result (`dyn` when only the evaluation can tell). */
  readonly resultType: string;
  readonly references: CelReferences;
  /** Timestamps, durations, quantities and other values JSON does not have come out as text. Never throws. */
  evaluate(bindings: CelBindings, options?: CelEvaluateOptions): Result<JsonValue, string>;
}
