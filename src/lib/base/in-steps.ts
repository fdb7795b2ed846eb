/** Runs work in steps without a pause between them. */
export function atOnce<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Pauses after each step, the last one too. */
export async function inTurns<T>(steps: Generator<undefined, T>, pause: () => Promise<void>): Promise<T> {
  for (;;) {
    const step = steps.next();
    await pause();
    if (step.done === true) return step.value;
  }
}
