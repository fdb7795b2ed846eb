import { join } from "node:path";
import type { HttpDoor } from "#dialects/wharf/http/index.ts";
import { createResults, type ResultsStore } from "#dialects/wharf/results/results-store.ts";
import type { StepLogWriter } from "#dialects/wharf/results/step-log-writer.ts";
import { serveResults } from "#dialects/wharf/worker-api/serve-results.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { carriedBuild, printedChunks } from "./carried-lines.ts";

// B9e: a worker whose steps print, all at once and as fast as their logs take it.

interface Worker {
  readonly results: ResultsStore;
  readonly door: HttpDoor;
  readonly logs: readonly StepLogWriter[];
  /** What each step prints. */
  readonly chunks: readonly Buffer[];
}

let worker: Worker | undefined;

/** A build that runs and has printed nothing yet; `lines` are those of each step. */
export async function begin({ dir, lines }: { readonly dir: string; readonly lines: number }): Promise<string> {
  const results = await createResults(join(dir, "results"), carriedBuild, { clock: systemClock });
  const door = await serveResults(results, { address: "127.0.0.1:0", clock: systemClock, log: silentLog });
  const logs: StepLogWriter[] = [];
  for (const { stepId } of results.steps) {
    await results.setStatus(stepId, "Running");
    logs.push(await results.openLog(stepId));
  }
  worker = { results, door, logs, chunks: printedChunks(lines) };
  return door.address;
}

/** Resolves when somebody waits for lines, statuses and artifacts. */
export async function followed(): Promise<void> {
  while (begun().results.changes.waiting < 3) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Resolves when the build has ended, with everything on the disk. */
export async function print(): Promise<void> {
  const { results, logs, chunks } = begun();
  await Promise.all(
    logs.map(async (log) => {
      for (const chunk of chunks) if (!log.append("stdout", chunk)) await log.drained();
    }),
  );
  for (const { stepId } of results.steps) await results.setStatus(stepId, "Success", 0);
  await results.finish({ status: "Success" });
  await results.freeze();
}

/** Serves nothing any more. */
export async function end(): Promise<void> {
  const { results, door } = begun();
  worker = undefined;
  await results.close();
  await door.close();
}

function begun(): Worker {
  if (worker === undefined) throw new Error("there is no build");
  return worker;
}
