import type { Results, StepResults } from "./results.ts";

/** Something that happened to a step. */
export interface StepEvent<T> {
  readonly stepId: number;
  readonly event: T;
}

export interface EventFollowing {
  /** False: ends with what is there. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Status updates or artifacts of a build, those that were and those that come; ends when the results are frozen and all was given. Of
 * each step in its order, each once. As `followLogs` in everything else.
 *
 *     for await (const { stepId, event } of followEvents(results, ({ updates }) => updates)) …
 */
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
