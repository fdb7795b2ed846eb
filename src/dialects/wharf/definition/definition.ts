import type { Place, Related, ScalarNode } from "./node.ts";
import type { StepType, StepValues } from "./step-fields.ts";

/** A `.wharf-ci.yml` that was read: everything is checked, and variables are substituted below the stages. */
export interface Definition {
  readonly inputs: readonly Input[];
  readonly environments: ReadonlyMap<string, Environment>;
  readonly stages: readonly Stage[];
}

/** What is accepted as a value. A password is a string that nobody is shown. */
export type InputType = "string" | "password" | "number" | "choice";

/** What whoever starts the build may set. */
export interface Input {
  readonly name: string;
  readonly at: Place;
  readonly type: InputType;
  /** As a variable: a text, and of a number its number. */
  readonly initial: ScalarNode;
  /** Of a choice. */
  readonly values?: readonly string[];
}

/** Variables of an environment, not substituted. */
export type Environment = ReadonlyMap<string, ScalarNode>;

/** When a stage runs: while no stage has failed, only when one has, or in both cases. */
export type RunsIf = "success" | "fail" | "always";

/** Steps that start together. */
export interface Stage {
  readonly name: string;
  readonly at: Place;
  /** `success` unless told. */
  readonly runsIf: RunsIf;
  /** Empty: runs only when no environment is selected, and also with every one. */
  readonly environments: readonly string[];
  readonly steps: readonly Step[];
}

/** A step whose fields are there and of their types. Whether they make sense together has been reported. */
interface StepOf<Type extends StepType> {
  readonly name: string;
  readonly type: Type;
  /** Where its problems belong: `build/web/docker`. */
  readonly scope: string;
  /** The place of its type. */
  readonly at: Place;
  readonly values: StepValues<Type>;
  /** Places of the values that are written, by field. */
  readonly places: ReadonlyMap<string, WrittenAt>;
}

/** Where a value is written, and what it was made of. */
export interface WrittenAt {
  readonly at: Place;
  readonly madeOf?: readonly Related[];
  /** Of a list its items, in their order. */
  readonly items?: readonly WrittenAt[];
}

/** One of the six, told apart by `type`. */
export type Step = { readonly [Type in StepType]: StepOf<Type> }[StepType];
export type StepOfType<Type extends StepType> = Extract<Step, { readonly type: Type }>;
