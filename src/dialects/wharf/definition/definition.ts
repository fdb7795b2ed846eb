import type { Place, Related, ScalarNode } from "./node.ts";
import type { StepType, StepValues } from "./step-fields.ts";

export interface Definition {
  readonly inputs: readonly Input[];
  readonly environments: ReadonlyMap<string, Environment>;
  readonly stages: readonly Stage[];
}

export type InputType = "string" | "password" | "number" | "choice";

export interface Input {
  readonly name: string;
  readonly at: Place;
  readonly type: InputType;
  readonly initial: ScalarNode;
  readonly values?: readonly string[];
}

export type Environment = ReadonlyMap<string, ScalarNode>;

export type RunsIf = "success" | "fail" | "always";

export interface Stage {
  readonly name: string;
  readonly at: Place;
  readonly runsIf: RunsIf;
  /** If empty, the stage runs with every environment and without one. */
  readonly environments: readonly string[];
  readonly steps: readonly Step[];
}

interface StepOf<Type extends StepType> {
  readonly name: string;
  readonly type: Type;
  /** Scope of its problems, as in `build/web/docker`. */
  readonly scope: string;
  readonly at: Place;
  readonly values: StepValues<Type>;
  readonly places: ReadonlyMap<string, WrittenAt>;
}

export interface WrittenAt {
  readonly at: Place;
  readonly madeOf?: readonly Related[];
  readonly items?: readonly WrittenAt[];
}

export type Step = { readonly [Type in StepType]: StepOf<Type> }[StepType];
export type StepOfType<Type extends StepType> = Extract<Step, { readonly type: Type }>;
