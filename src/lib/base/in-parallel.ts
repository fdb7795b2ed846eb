/**
 * Runs `run` on all items, at most `width` at a time, in their order of beginning. After the first failure no further item is begun; it
 * rejects with that failure when what was under way has ended, so that work which is tried again never overlaps what came before.
 */
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

/**
 * One item first, then twice as many each time, each batch as `inParallel`: what is refused is refused once or a few times, not for all
 * of five hundred items at the same moment.
 */
export async function inGrowingBatches<T>(items: readonly T[], run: (item: T) => Promise<unknown>): Promise<void> {
  for (let done = 0, size = 1; done < items.length; done += size, size *= 2) {
    await inParallel(items.slice(done, done + size), run);
  }
}
