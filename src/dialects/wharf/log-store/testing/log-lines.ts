import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#lib/base/index.ts";
import { type LogStore, type LogStoreOptions, openLogStore } from "../log-store.ts";
import type { NewLine, StoredLine } from "../record.ts";

export const lineOf = (stepId: number, workerLogId: number, more = ""): NewLine => ({
  stepId,
  workerLogId,
  time: { seconds: 1_700_000_000 + workerLogId, nanos: 123_456_789 },
  message: `step ${stepId} line ${workerLogId}${more}`,
});

export const linesOf = (stepId: number, from: number, to: number): NewLine[] =>
  Array.from({ length: to - from + 1 }, (_, at) => lineOf(stepId, from + at));

export async function inDirectory(work: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "slipway-log-store-"));
  try {
    await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

export async function withStore<T>(
  directory: string,
  work: (store: LogStore) => Promise<T>,
  options: Partial<LogStoreOptions> = {},
): Promise<T> {
  const store = await openLogStore({ directory, clock: systemClock, ...options });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

export async function allLines(store: LogStore, buildId: number, after = 0): Promise<readonly StoredLine[]> {
  const lines: StoredLine[] = [];
  for await (const page of store.lines(buildId, { after })) lines.push(...page.lines);
  return lines;
}

export async function stepLines(
  store: LogStore,
  buildId: number,
  stepId: number,
  after?: number,
): Promise<readonly StoredLine[]> {
  const lines: StoredLine[] = [];
  for await (const page of store.step(buildId, stepId, after)) lines.push(...page);
  return lines;
}
