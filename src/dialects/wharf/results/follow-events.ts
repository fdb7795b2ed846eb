import type { Results, StepResults } from "./results.ts";

export interface StepEvent<T> {
  readonly stepId: number;
  readonly event: T;
}

export interface EventFollowing {
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** Past and future status updates or artifacts of a build, in order per step, until the results are frozen. */
export async function* followEvents<T>(
  results: Pick<Results, "steps" | "changes" | "frozen">,
  eventsOf: (step: StepResults) => readonly T[],
  { follow = true, signal }: EventFollowing = {},
): AsyncGenerator<StepEvent<T>, void> {
  const given = results.steps.map(() => 0);
  for (;;) {
    const [{ version }, isLast] = [results.changes, results.frozen || !follow];
    let gave = false;
    for (const [at, step] of results.steps.entries()) {
      const events = eventsOf(step);
      for (let next = given[at] ?? 0; next < events.length; next = given[at] ?? 0) {
        results.changes.check(signal);
        const event = events[next];
        given[at] = next + 1;
        gave = true;
        if (event !== undefined) yield { stepId: step.stepId, event };
      }
    }
    if (gave) continue;
    if (isLast) return;
    await results.changes.after(version, signal);
  }
}
