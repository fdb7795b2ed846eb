/** As many as aggregators put into a batch. */
export const linesOfBatch = 1000;
const batches = 200;

export interface Brought {
  readonly ms: number;
  readonly dir: string;
}

/**
 * Has `take` keep 200 batches of 1,000 lines of 100 bytes, again and again until the time is over. It answers how many were kept, and seen by every
 * follower. Rejects when one is missing.
 */
export async function bring(
  { ms }: Brought,
  take: (batches: number, message: string, round: number) => Promise<number>,
) {
  const message = "x".repeat(99);
  const start = performance.now();
  let round = 0;
  do {
    const kept = await take(batches, message, round++);
    if (kept !== batches * linesOfBatch) throw new Error(`expected ${batches * linesOfBatch} lines, found ${kept}`);
  } while (performance.now() - start < ms);
  return { ops: round * batches * linesOfBatch, ms: performance.now() - start };
}
