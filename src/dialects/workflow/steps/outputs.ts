import { err, isJsonObject, type JsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { isMissingValue } from "#lib/cel/index.ts";
import type { ChildState } from "#engine/index.ts";
import type { CompiledOutput } from "../compile/compiled.ts";
import { evaluate, evaluateCondition } from "../compile/values.ts";
import type { Attempt } from "./executor.ts";
import { mayTryAgain } from "./retry-when.ts";

/** Limit per step as JSON, because outputs are in the status; larger data belongs in artifacts. */
export const maxOutputBytes = 32 * 1024;

/** Kubernetes keeps the first 4,096 bytes of a termination message, without half characters. */
const maybeCutBytes = 4_096 - 3;

/** Fails a message that is or may be cut, because a cut value looks valid. */
export async function cutOutputs(
  message: string,
  keptBytes: () => Promise<number | undefined>,
): Promise<ChildState | undefined> {
  const bytes = Buffer.byteLength(message);
  if (bytes < maybeCutBytes) return undefined;
  const kept = await keptBytes();
  if (kept !== undefined && bytes <= kept) return undefined;
  const told =
    kept === undefined
      ? `must be smaller than ${maybeCutBytes} bytes, because only the first 4096 of its message are kept`
      : `may be at most ${kept} bytes`;
  const what = `the outputs of a container ${told}; store large results as artifacts`;
  return { is: "failed", reason: "OutputTooLarge", message: what, retryable: false };
}

export interface OutputSources {
  readonly result: JsonObject;
  readonly object: JsonValue;
}

/** The success with declared outputs, or a failure: retryable for a missing output, final for too large ones. */
export function succeeded(attempt: Attempt, sources: OutputSources, exitCode?: number): ChildState {
  const declared = attempt.step.outputs;
  const entries: [string, JsonValue][] = [];
  for (const output of declared) {
    const value = outputValue(output, attempt, sources);
    if (!value.ok) {
      const failed = { ...value.error, exitCode: exitCode ?? null, outputs: sources.result };
      return { is: "failed", ...value.error, retryable: mayTryAgain(attempt, failed) };
    }
    entries.push([output.name, value.value]);
  }
  // A child Workflow declares its outputs itself.
  const isChild = attempt.step.type === "workflow" && declared.length === 0 && attempt.item === undefined;
  const outputs = isChild ? sources.result : Object.fromEntries(entries);
  const bytes = Buffer.byteLength(JSON.stringify(outputs));
  if (bytes > maxOutputBytes) return tooLarge(bytes);
  return afterRound(attempt, sources, Object.keys(outputs).length === 0 ? {} : { outputs });
}

function tooLarge(bytes: number): ChildState {
  const message = `outputs of ${bytes} bytes, at most ${maxOutputBytes} of one step or item are kept; leave large results as artifacts`;
  return { is: "failed", reason: "OutputTooLarge", message, retryable: false };
}

/** Only the condition ends a loop; other steps have one round. */
function afterRound(
  { step, compiled, values, iteration = 1 }: Attempt,
  sources: OutputSources,
  given: { readonly outputs?: JsonObject },
): ChildState {
  if (step.repeatUntil === undefined) return { is: "succeeded", ...given };
  const more = { ...sources, outputs: given.outputs ?? {}, iteration };
  const isDone = evaluateCondition(step.repeatUntil, compiled, values, more);
  if (isDone.ok) return { is: "succeeded", ...given, ...(isDone.value ? {} : { again: true }) };
  return { is: "failed", reason: "ExpressionError", message: `repeat.until: ${isDone.error}`, retryable: false };
}

interface Failure {
  readonly reason: string;
  readonly message: string;
}

/** A default replaces a missing value and a failed expression; null is a value. */
function outputValue(output: CompiledOutput, attempt: Attempt, sources: OutputSources): Result<JsonValue, Failure> {
  const { name, expression } = output;
  if (expression === undefined) {
    const written = Object.hasOwn(sources.result, name) ? sources.result[name] : undefined;
    const value = written ?? output.default;
    return value === undefined ? err(missing(name)) : ok(value);
  }
  const value = evaluate(expression, attempt.compiled, attempt.values, { ...sources });
  if (value.ok) return value;
  if (output.default !== undefined) return ok(output.default);
  const reason = isMissingValue(value.error) ? "OutputMissing" : "ExpressionError";
  return err({ reason, message: `output "${name}": ${value.error}` });
}

const missing = (name: string): Failure => ({
  reason: "OutputMissing",
  message: `the step did not write its output "${name}"`,
});

/** `status.outputs`, used by Slipway's kinds and others. */
export function statusOutputs(object: JsonObject): JsonObject {
  const status = object["status"];
  const outputs = isJsonObject(status) ? status["outputs"] : undefined;
  return isJsonObject(outputs) ? outputs : {};
}
