import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { open, rm } from "node:fs/promises";
import { formatInstant, hasCode, type Instant, recover } from "#lib/base/index.ts";
import { type BuildDocument, isFinal, type StageRecord, type StatusUpdate, type StepRecord } from "./build-document.ts";
import { writeJson } from "./json-file.ts";
import { readBuild } from "./read-build.ts";
import { buildFile, logFile, statusDocument, statusFile, stepDirectory, workDirectory } from "./results.ts";
import { readDocument, statusUpdatesIn } from "./stored-documents.ts";

/** Ends the store of a dead worker: started steps and the build are Failed with `WorkerCrashed`. Idempotent and safe in
 * parallel; build.json is written last, so an interrupted seal is repeated. */
export async function seal(directory: string, now: Instant): Promise<void> {
  const build = await readBuild(directory);
  if (build.frozen) return;
  const at = formatInstant(now);
  const steps: StepRecord[] = [];
  for (const step of build.steps) {
    await cutTail(logFile(directory, step.stepId));
    steps.push(await sealStep(directory, step, at));
  }
  const wasOver = isFinal(build.status);
  const crashed = {
    status: "Failed",
    reason: "WorkerCrashed",
    message: "the worker ended before the build",
    finishedAt: at,
  } as const;
  const stages = build.stages.map((stage) => sealStage(stage, steps));
  const sealed: BuildDocument = { ...build, stages, steps, ...(wasOver ? {} : crashed), frozen: true };
  await rm(workDirectory(directory), { recursive: true, force: true });
  await rm(`${buildFile(directory)}.next`, { force: true });
  await writeJson(buildFile(directory), sealed, draftOf(buildFile(directory)), true);
}

/** Unique per sealer. */
const draftOf = (path: string): string => `${path}.next-${randomUUID()}`;

function sealStage(stage: StageRecord, steps: readonly StepRecord[]): StageRecord {
  const statuses = steps.filter(({ stageId }) => stageId === stage.stageId).map(({ status }) => status);
  const hasBegun = stage.status !== "None" || statuses.some((status) => status !== "None");
  if (isFinal(stage.status) || !hasBegun) return stage;
  if (statuses.includes("Failed") || statuses.includes("None")) return { ...stage, status: "Failed" };
  return { ...stage, status: statuses.includes("Cancelled") ? "Cancelled" : "Success" };
}

async function sealStep(directory: string, step: StepRecord, at: string): Promise<StepRecord> {
  const home = stepDirectory(directory, step.stepId);
  const path = statusFile(home);
  await rm(`${path}.next`, { force: true });
  const document = await readDocument(path);
  const updates = document === undefined ? [] : statusUpdatesIn(path, document);
  const last = updates.at(-1);
  if (last === undefined || last.status === "None") return step;
  if (isFinal(last.status)) return { ...step, status: last.status, finishedAt: step.finishedAt ?? last.timestamp };
  const end: StatusUpdate = { updateId: last.updateId + 1, timestamp: at, status: "Failed" };
  await writeJson(path, statusDocument([...updates, end]), draftOf(path), true);
  return { ...step, status: "Failed", finishedAt: at };
}

const blockBytes = 64 * 1024;

/** A crash may have left half a line. */
async function cutTail(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDWR | constants.O_NOFOLLOW).catch(recover(hasCode("ENOENT"), undefined));
  if (handle === undefined) return;
  try {
    const { size } = await handle.stat();
    const whole = await wholeLines(size, async (from, to) => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(to - from), 0, to - from, from);
      return buffer.subarray(0, bytesRead);
    });
    if (whole < size) await handle.truncate(whole);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

async function wholeLines(size: number, read: (from: number, to: number) => Promise<Buffer>): Promise<number> {
  for (let to = size; to > 0; to -= Math.min(to, blockBytes)) {
    const from = Math.max(0, to - blockBytes);
    const found = (await read(from, to)).lastIndexOf(10);
    if (found >= 0) return from + found + 1;
  }
  return 0;
}
