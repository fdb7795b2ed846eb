/**
 * Remembered lines ahead of a gap, per step. Beyond that duplicates are passed on, because the store recognises them.
 */
const mostAhead = 65_536;

/** Recognises repeated lines. Released workers mix old and new lines and start over when a client reconnects. */
export class SeenLines {
  readonly #steps = new Map<number, { upTo: number; readonly ahead: Set<number> }>();

  /** `known`: by step, the line up to which all are known. */
  constructor(known: ReadonlyMap<number, number> = new Map()) {
    for (const [stepId, upTo] of known) this.#steps.set(stepId, { upTo, ahead: new Set() });
  }

  add(stepId: number, logId: number): boolean {
    const step = this.#steps.get(stepId) ?? this.#begin(stepId);
    if (logId === step.upTo + 1) {
      step.upTo = logId;
      while (step.ahead.delete(step.upTo + 1)) step.upTo++;
      return true;
    }
    // Lines without a number are always new.
    if (logId === 0) return true;
    if (logId <= step.upTo || step.ahead.has(logId)) return false;
    if (step.ahead.size < mostAhead) step.ahead.add(logId);
    return true;
  }

  #begin(stepId: number) {
    const step = { upTo: 0, ahead: new Set<number>() };
    this.#steps.set(stepId, step);
    return step;
  }

  /** By step, the line up to which all have been seen. */
  get cursors(): ReadonlyMap<number, number> {
    return new Map([...this.#steps].map(([stepId, { upTo }]) => [stepId, upTo]));
  }
}
