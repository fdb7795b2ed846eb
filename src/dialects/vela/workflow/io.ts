import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { Cue, CueLookup, CueTask } from "#kernel/template/index.ts";
import type { Input, Output, Step } from "../app.ts";
import type { ContextStore } from "./context-store.ts";
import { messages } from "../messages.ts";
import { parsePath, setAt, variableIn } from "../json-path.ts";

// Inputs and outputs of steps.

export interface ResolvedInput {
  readonly input: Input;
  readonly value: JsonValue;
  readonly isSensitive: boolean;
}

export type Inputs =
  | { readonly ok: true; readonly values: readonly ResolvedInput[] }
  /** `from` of the first that is missing. */
  | { readonly ok: false; readonly missing: string };

/** Variables first, then expressions over `context` and `parameter`. */
export async function resolveInputs(
  cue: Cue,
  store: ContextStore,
  step: Step,
  context: JsonObject,
  signal: AbortSignal,
): Promise<Inputs> {
  const values: ResolvedInput[] = [];
  for (const input of step.inputs) {
    const found = variableFor(store, input.from) ?? (await evaluated(cue, step, input, context, signal));
    if (found === undefined) return { ok: false, missing: input.from };
    values.push({ input, ...found });
  }
  return { ok: true, values };
}

function variableFor(store: ContextStore, from: string): Omit<ResolvedInput, "input"> | undefined {
  const found = variableIn((name) => store.variable(name), from);
  return found && { value: found.value, isSensitive: store.isSensitive(found.name) };
}

async function evaluated(
  cue: Cue,
  step: Step,
  { from }: Input,
  context: JsonObject,
  signal: AbortSignal,
): Promise<Omit<ResolvedInput, "input"> | undefined> {
  if (!/\b(?:context|parameter)\b/.test(from)) return undefined;
  const task = { text: "", context, parameter: step.properties, done: [] };
  const found = await cue.lookup(task, [from], signal);
  const value = found.ok ? found.value[0]?.value : undefined;
  return value === undefined ? undefined : { value, isSensitive: false };
}

/** The parameter with inputs in their places; an error for a key that is not a path. */
export function withInputs(parameter: JsonObject, inputs: readonly ResolvedInput[]): JsonObject | string {
  let filled: JsonValue = parameter;
  for (const { input, value } of inputs) {
    if (input.parameterKey === "") continue;
    const path = parsePath(input.parameterKey);
    if (path === undefined || typeof path[0] === "number")
      return `input ${input.from}: invalid parameterKey "${input.parameterKey}"`;
    filled = setAt(filled, path, value);
  }
  return isJsonObject(filled) ? filled : parameter;
}

/** Values that make new outputs: a path as written, then in the result of an action. */
const candidatesOf = ({ valueFrom }: Output): readonly string[] => {
  const inResult = valueFrom.replace(/(^|[^\w.])output\./, "$1output.$$returns.");
  return [
    valueFrom,
    ...(inResult === valueFrom || valueFrom.includes("$returns.") ? [] : [inResult]),
    ...(valueFrom.includes("$returns.") || !/^[\w.$"[\]-]+$/.test(valueFrom) ? [] : [`${valueFrom}.$returns`]),
  ];
};

export interface OutputsRequest {
  readonly cue: Cue;
  readonly store: ContextStore;
  readonly step: Step;
  /** The value of the step; absent if it has none, as after a skip. */
  readonly task?: CueTask | undefined;
  readonly isSensitive: boolean;
  /** A step that did not succeed gives null for what is missing. */
  readonly isComplete: boolean;
  readonly signal: AbortSignal;
}

export type OutputsResult =
  | { readonly kind: "done" }
  | { readonly kind: "missing" | "error" | "failed"; readonly message: string; readonly output: Output };

/** Sets the variables of a step. */
export async function storeOutputs(request: OutputsRequest): Promise<OutputsResult> {
  const { store, step } = request;
  for (const output of step.outputs) {
    const value = await outputValue(request, output);
    if (value === undefined) {
      const message = messages.waitingForOutput(output.name, output.valueFrom);
      return { kind: "missing", message, output };
    }
    const owner = store.ownerOf(output.name);
    let conflict: string | undefined;
    store
      .variablesOf(step.name, (name, by) => (conflict = messages.outputConflict(name, by)))
      .set(output.name, value, request.isSensitive && !isLiteral(output.valueFrom));
    if (conflict !== undefined) return { kind: "error", message: conflict, output };
    const excess = store.excess();
    if (excess === undefined) continue;
    if (owner === undefined) store.removeVariable(output.name);
    return { kind: "failed", message: messages.storeTooLarge(excess.name, excess.bytes), output };
  }
  return { kind: "done" };
}

const isLiteral = (valueFrom: string): boolean => /^(?:"[^"\\]*"|\d+|true|false)$/.test(valueFrom.trim());

async function outputValue(request: OutputsRequest, output: Output): Promise<JsonValue | undefined> {
  const { cue, task, isComplete, signal } = request;
  const found = task === undefined ? undefined : await cue.lookup(task, candidatesOf(output), signal);
  const value = found?.ok === true ? firstValue(found.value) : undefined;
  return value ?? (isComplete ? undefined : null);
}

const firstValue = (found: readonly CueLookup[]): JsonValue | undefined =>
  found.find(({ value }) => value !== undefined)?.value;
