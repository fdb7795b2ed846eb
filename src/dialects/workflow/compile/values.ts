import {
  err,
  formatFieldPath,
  formatInstant,
  type JsonObject,
  type JsonValue,
  ok,
  type Result,
} from "#lib/base/index.ts";
import type { CelBindings } from "#lib/cel/index.ts";
import { countPhases, type GateScope, type MainOutcome, type RunState, type StepState } from "#engine/index.ts";
import type { CompiledStep, Identity } from "./compiled.ts";
import type { CompiledExpression, CompiledTemplate, StepUse } from "./expressions.ts";

export interface StaticValues {
  readonly params: JsonObject;
  readonly identity: Identity;
  readonly steps: ReadonlyMap<string, CompiledStep>;
}

/** `state` answers for every key; steps that have not moved are pending. */
export interface RunValues {
  readonly run: RunState;
  readonly state: (key: string) => StepState;
  /** Outcome of the main plan, for final steps. */
  readonly main: MainOutcome | undefined;
  /** `item`, `index` and `iteration`, if the step has them. */
  readonly local?: JsonObject;
}

export const runValues = (scope: GateScope): RunValues => ({
  run: scope.run,
  state: (key) => scope.state(key),
  main: scope.main(),
});

/** The variables of an expression; `more` wins. O(used steps). */
export function bindingsOf(
  values: StaticValues,
  { run, state, main, local }: RunValues,
  uses: readonly StepUse[],
  more: CelBindings = {},
): CelBindings {
  const { scheduledAt, ...self } = values.identity;
  const steps = uses.map(({ alias, key }) => [alias, stepValue(state(key), values.steps.get(key))] as const);
  return {
    params: values.params,
    steps: Object.fromEntries(steps),
    schedule: { time: scheduledAt },
    workflow: { ...self, runNumber: run.number, startTime: timeText(run.startedAt) },
    ...(main === undefined ? {} : { run: { phase: main.phase, failed: main.failed } }),
    ...local,
    ...more,
  };
}

/** Texts are compared, printed, and read by `timestamp`. */
const timeText = (at: number | undefined): string => (at === undefined ? "" : formatInstant(at));

/** Unknown values are empty texts, so that conditions are false instead of errors. */
function stepValue(state: StepState, step: CompiledStep | undefined): JsonObject {
  return {
    phase: state.phase,
    reason: state.reason ?? "",
    attempt: state.attempt,
    startTime: timeText(state.startedAt),
    finishTime: timeText(state.finishedAt),
    outputs: { ...defaultOutputs(step), ...state.outputs },
    ...(state.items === undefined ? {} : { items: { total: state.items.total, ...countsOf(state.items.states) } }),
  };
}

function countsOf(states: string): JsonObject {
  const { S = 0, F = 0, K = 0, X = 0 } = countPhases(states);
  return { succeeded: S, failed: F, skipped: K, canceled: X };
}

function defaultOutputs(step: CompiledStep | undefined): JsonObject {
  const known = step?.outputs.filter((output) => output.default !== undefined) ?? [];
  return Object.fromEntries(known.map((output) => [output.name, output.default]));
}

/** The error is one line, including CEL's cost limit. */
export const evaluate = (
  expression: CompiledExpression,
  values: StaticValues,
  run: RunValues,
  more?: CelBindings,
): Result<JsonValue, string> => expression.program.evaluate(bindingsOf(values, run, expression.uses, more));

/** Anything but a boolean is an error. */
export function evaluateCondition(
  expression: CompiledExpression,
  values: StaticValues,
  run: RunValues,
  more?: CelBindings,
): Result<boolean, string> {
  const answer = evaluate(expression, values, run, more);
  if (!answer.ok) return answer;
  if (typeof answer.value === "boolean") return ok(answer.value);
  return err(`expected true or false, found ${JSON.stringify(answer.value)}`);
}

/** Fills in every `${{ }}` of a body, or returns all failures. A text that is one expression becomes its value. */
export function render(body: CompiledTemplate, values: StaticValues, run: RunValues): Result<JsonValue, string> {
  const rendered = body.template.evaluate(bindingsOf(values, run, body.uses));
  if (rendered.ok) return rendered;
  return err(rendered.error.map(({ path, message }) => `${formatFieldPath(path)}: ${message}`).join("; "));
}
