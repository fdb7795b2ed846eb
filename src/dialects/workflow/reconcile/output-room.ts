import type { JsonObject } from "#lib/base/index.ts";
import type { ChildFact, RunState } from "#engine/index.ts";

/** Bytes of JSON that the outputs of all steps of one workflow may be: they stand in one status, which must fit a real store. */
const mostBytes = 256 * 1024;

/** Sizes of outputs that do not change any more: those of a run are asked for again with every step that succeeds. */
const sizes = new WeakMap<JsonObject, number>();

function sizeOf(outputs: JsonObject | undefined): number {
  if (outputs === undefined) return 0;
  const size = sizes.get(outputs) ?? Buffer.byteLength(JSON.stringify(outputs));
  sizes.set(outputs, size);
  return size;
}

/** What is left of the room for outputs in a run, for the successes of one pass in their order. */
export class OutputRoom {
  readonly #run: RunState;
  #taken: number | undefined;

  constructor(run: RunState) {
    this.#run = run;
  }

  /** Takes room for what a success brings. Undefined when there is enough; else what all outputs would be, and nothing is taken. */
  take({ step, item, state }: ChildFact): number | undefined {
    if (state.is !== "succeeded" || state.outputs === undefined) return undefined;
    this.#taken ??= Object.values(this.#run.steps).reduce((sum, { outputs }) => sum + sizeOf(outputs), 0);
    // A round of a loop takes the place of the one before; items come beside each other.
    const before = item === undefined ? sizeOf(this.#run.steps[step]?.outputs) : 0;
    const all = this.#taken + sizeOf(state.outputs) - before;
    if (all > mostBytes) return all;
    this.#taken = all;
    return undefined;
  }

  /** The fact, or the failure that it is for want of room. */
  admit(fact: ChildFact): ChildFact {
    const all = this.take(fact);
    if (all === undefined) return fact;
    const message = `outputs of all steps and items would be ${all} bytes together, at most ${mostBytes} are kept; leave large results as artifacts`;
    return { ...fact, state: { is: "failed", reason: "OutputTooLarge", message, retryable: false } };
  }
}
