/** Runs `run` on all items, `width` at once. After a failure none begins; rejects when those begun have ended. */
export async function inParallel<T>(
  items: readonly T[],
  run: (item: T) => Promise<unknown>,
  width = 16,
): Promise<void> {
  const rest = items.values();
  const failures: unknown[] = [];
  const lane = async (): Promise<void> => {
    for (const item of rest) {
      try {
        await run(item);
      } catch (thrown) {
        failures.push(thrown);
      }
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
}

/** One item first, then batches of doubling size, so that a common refusal comes a few times only. */
export async function inGrowingBatches<T>(items: readonly T[], run: (item: T) => Promise<unknown>): Promise<void> {
  for (let done = 0, size = 1; done < items.length; done += size, size *= 2) {
    await inParallel(items.slice(done, done + size), run);
  }
}
