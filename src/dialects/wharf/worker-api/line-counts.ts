import { LogCursor } from "../results/log-cursor.ts";
import type { StepLog } from "../results/step-log.ts";

const pieceBytes = 256 * 1024;

/** Counts the lines of logs; logs written by another process are read once. */
export function lineCounts(): (log: StepLog) => Promise<number> {
  const counted = new WeakMap<StepLog, Promise<number>>();
  return async (log) => {
    if (!Number.isNaN(log.lines)) return log.lines;
    const known = counted.get(log) ?? count(log);
    counted.set(log, known);
    return await known;
  };
}

async function count(log: StepLog): Promise<number> {
  const cursor = new LogCursor(log);
  let lines = 0;
  try {
    for (let batch = await cursor.next(pieceBytes); batch !== undefined; batch = await cursor.next(pieceBytes))
      lines += batch.lines;
    return lines;
  } finally {
    await cursor.close();
  }
}
