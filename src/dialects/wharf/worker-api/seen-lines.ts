/** Lines ahead of a gap that are remembered, of one step. More of them are passed on, seen before or not: who stores lines knows them by their ids. */
const mostAhead = 65_536;

/**
 * Which lines have come. Workers that were released send what was and what comes mixed, and everything anew when somebody comes again; this one
 * does neither.
 */
export class SeenLines {
  readonly #steps = new Map<number, { upTo: number; readonly ahead: Set<number> }>();

  /** `known`: by step, the line up to which all are known already. */
  constructor(known: ReadonlyMap<number, number> = new Map()) {
    for (const [stepId, upTo] of known) this.#steps.set(stepId, { upTo, ahead: new Set() });
  }

  /** True for a line that has not been here. */
  add(stepId: number, logId: number): boolean {
    const step = this.#steps.get(stepId) ?? this.#begin(stepId);
    if (logId === step.upTo + 1) {
      step.upTo = logId;
      while (step.ahead.delete(step.upTo + 1)) step.upTo++;
      return true;
    }
    // A line without a number is one of its own.
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

  /** By step, the line up to which all have come. */
  get cursors(): ReadonlyMap<number, number> {
    return new Map([...this.#steps].map(([stepId, { upTo }]) => [stepId, upTo]));
  }
}
