import { getOrAdd, type JsonObject } from "#lib/base/index.ts";
import type { ChildFact, RunState } from "#engine/index.ts";

/** Limit of all outputs of a workflow as JSON, so that the status fits the store. */
const mostBytes = 256 * 1024;

/** Cached, because outputs do not change. */
const sizes = new WeakMap<JsonObject, number>();

function sizeOf(outputs: JsonObject | undefined): number {
  if (outputs === undefined) return 0;
  return getOrAdd(sizes, outputs, () => Buffer.byteLength(JSON.stringify(outputs)));
}

export class OutputRoom {
  readonly #run: RunState;
  #taken: number | undefined;

  constructor(run: RunState) {
    this.#run = run;
  }

  /** Takes room for a success. If there is not enough, returns the total size and takes nothing. */
  take({ step, item, state }: ChildFact): number | undefined {
    if (state.is !== "succeeded" || state.outputs === undefined) return undefined;
    this.#taken ??= Object.values(this.#run.steps).reduce((sum, { outputs }) => sum + sizeOf(outputs), 0);
    // A round of a loop replaces the last; items add up.
    const before = item === undefined ? sizeOf(this.#run.steps[step]?.outputs) : 0;
    const all = this.#taken + sizeOf(state.outputs) - before;
    if (all > mostBytes) return all;
    this.#taken = all;
    return undefined;
  }

  /** The fact, or a failure for lack of room. */
  admit(fact: ChildFact): ChildFact {
    const all = this.take(fact);
    if (all === undefined) return fact;
    const message = `outputs of all steps and items would be ${all} bytes together, at most ${mostBytes} are kept; leave large results as artifacts`;
    return { ...fact, state: { is: "failed", reason: "OutputTooLarge", message, retryable: false } };
  }
}
