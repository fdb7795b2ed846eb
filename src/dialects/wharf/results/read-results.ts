import { isDead } from "#lib/base/index.node.ts";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#lib/base/index.ts";
import type { Artifact, BuildDocument, StatusUpdate } from "./build-document.ts";
import { Changes } from "./changes.ts";
import { resultsError } from "./errors.ts";
import { readBuild } from "./read-build.ts";
import { artifactsFile, logFile, type Results, statusFile, stepDirectory, type StepResults } from "./results.ts";
import { seal } from "./seal.ts";
import { StepLog } from "./step-log.ts";
import { artifactsIn, readDocument, statusUpdatesIn } from "./stored-documents.ts";

/** Opens the results of an ended build. Seals the store of a dead worker; rejects with `results-live` if the worker is
 * alive. */
export async function readResults(directory: string, clock: Pick<Clock, "now">): Promise<Results> {
  let build = await readBuild(directory);
  if (!build.frozen) {
    const { owner } = build;
    if (owner === undefined || !isDead(owner)) throw live(directory, build);
    await seal(directory, clock.now());
    build = await readBuild(directory);
  }
  const changes = new Changes();
  const steps = await Promise.all(build.steps.map(({ stepId }) => readStep(directory, stepId, changes)));
  const latest = build.steps.map((step, at) => ({ ...step, status: steps[at]?.updates.at(-1)?.status ?? step.status }));
  const numbered = ownIds(steps);
  return {
    directory,
    build: { ...build, steps: latest },
    steps: numbered,
    logs: numbered.map(({ log }) => log),
    changes,
    frozen: true,
  };
}

function live(directory: string, { buildId, owner }: BuildDocument): Error {
  const who = owner === undefined ? "a worker that it does not name" : `process ${owner.pid} of ${owner.host}`;
  return resultsError("results-live", `results of build ${buildId} in ${directory}: ${who} writes them`, {
    hint: "ask the worker, or come again when it has ended",
  });
}

async function readStep(directory: string, stepId: number, changes: Changes): Promise<StepResults> {
  const home = stepDirectory(directory, stepId);
  const [statuses, artifacts] = [statusFile(home), artifactsFile(home)];
  const [statusDocument, artifactsDocument] = [await readDocument(statuses), await readDocument(artifacts)];
  const updates: readonly StatusUpdate[] =
    statusDocument === undefined ? [] : statusUpdatesIn(statuses, statusDocument);
  const stored = artifactsDocument === undefined ? [] : artifactsIn(artifacts, stepId, artifactsDocument);
  return {
    stepId,
    directory: home,
    log: await findLog(directory, stepId, changes),
    updates,
    artifacts: await present(home, stored),
  };
}

/** Log names of this and earlier workers. Links are not followed. */
async function findLog(directory: string, stepId: number, changes: Changes): Promise<StepLog> {
  const home = stepDirectory(directory, stepId);
  for (const path of [logFile(directory, stepId), join(home, "logs.log"), `${home}.log`]) {
    const found = await lstat(path).catch(() => undefined);
    if (found?.isFile() !== true) continue;
    const log = new StepLog(stepId, path, changes);
    log.publish(found.size, Number.NaN);
    log.end();
    return log;
  }
  const none = new StepLog(stepId, logFile(directory, stepId), changes);
  none.end();
  return none;
}

async function present(home: string, artifacts: readonly Artifact[]): Promise<readonly Artifact[]> {
  const found: Artifact[] = [];
  for (const artifact of artifacts) {
    const file = await lstat(join(home, artifact.path)).catch(() => undefined);
    if (file?.isFile() === true) found.push({ ...artifact, size: file.size });
  }
  return found;
}

/** Earlier workers numbered artifacts per step; duplicate ids are renumbered. */
function ownIds(steps: readonly StepResults[]): readonly StepResults[] {
  const ids = steps.flatMap(({ artifacts }) => artifacts.map(({ artifactId }) => artifactId));
  if (new Set(ids).size === ids.length) return steps;
  let next = 0;
  return steps.map((step) => ({
    ...step,
    artifacts: step.artifacts.map((artifact) => ({ ...artifact, artifactId: ++next })),
  }));
}
