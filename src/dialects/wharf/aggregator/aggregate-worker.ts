import { createHash } from "node:crypto";
import { codeOf, type JsonObject, messageOf } from "#lib/base/index.ts";
import type { BuildWord } from "../build-status.ts";
import { isFinal, type StepStatus } from "../results/build-document.ts";
import type { WorkerBuild } from "../worker-api/worker-client.ts";
import type { WorkerArtifact } from "../worker-api/worker-messages.ts";
import { type AggregationParts, insist, tellInLog } from "./aggregation-parts.ts";
import { carryLines, confirmLines } from "./carry-lines.ts";

/**
 * Carries the results of a worker over to wharf-api and resolves when all of them are there: every line on its disk, every artifact, and after these
 * the end of the build, once. Nothing is remembered between two calls: where to go on is asked of the API, which knows what it has, so that two that
 * do this at once are harmless. Rejects when the signal aborts, and with what the API refuses.
 */
export async function aggregateWorker(parts: AggregationParts, signal: AbortSignal): Promise<void> {
  // The first of the three that fails ends the others.
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const statuses = new Map<number, StepStatus>();
  const work = [carryLines(parts, either), carryStatuses(parts, statuses, either), carryArtifacts(parts, either)];
  for (const one of work) one.catch((thrown: unknown) => failed.abort(thrown));
  await Promise.allSettled(work);
  either.throwIfAborted();
  await confirmLines(parts, signal);
  const build = await insist(parts, signal, () => parts.worker.build(signal));
  const { word, told } = build === undefined ? endOfSteps([...statuses.values()]) : endOf(build);
  await insist(parts, signal, () => parts.api.putStatus(word, told, signal));
}

/**
 * The build runs from the first step on that does, also when it is over by the time that this is heard. What steps have become is told as often as it
 * can be, the newest state each time.
 */
async function carryStatuses(
  parts: AggregationParts,
  statuses: Map<number, StepStatus>,
  signal: AbortSignal,
): Promise<void> {
  const { worker, api } = parts;
  let [hasNews, isRunning] = [false, false];
  let telling: Promise<void> | undefined;
  // What the API refuses ends the wait for further news as well.
  const failed = new AbortController();
  const tell = async (): Promise<void> => {
    try {
      while (hasNews) {
        hasNews = false;
        const build = await insist(parts, signal, () => worker.build(signal));
        // What comes after the end is told with it.
        const isOver = build !== undefined && isFinal(build.status);
        if (isOver && isRunning) return;
        isRunning = true;
        await insist(parts, signal, () => api.putStatus("Running", isOver ? {} : stepsOf(build), signal));
      }
    } catch (thrown) {
      failed.abort(thrown);
    } finally {
      // At the very moment at which there is no news: what comes from here on begins another.
      telling = undefined;
    }
  };
  try {
    for await (const { stepId, status } of worker.statuses(AbortSignal.any([signal, failed.signal]))) {
      if (status === undefined) continue;
      statuses.set(stepId, status);
      if (status === "None" || status === "Scheduling") continue;
      hasNews = true;
      telling ??= tell();
    }
    await telling;
  } finally {
    failed.signal.throwIfAborted();
  }
}

/** The files that steps have left. What a build hands on to others is read from them there. */
async function carryArtifacts(parts: AggregationParts, signal: AbortSignal): Promise<void> {
  const { worker, api } = parts;
  for await (const artifact of worker.artifacts(signal)) {
    try {
      // Begun anew each time: an upload that broke off is not there.
      await insist(parts, signal, async () => {
        const known = await withDigest(parts, artifact, signal);
        await api.putArtifact(known, await worker.download(artifact.artifactId, signal), signal);
      });
    } catch (thrown) {
      if (codeOf(thrown) !== "wharf-unwanted") throw thrown;
      await tellUnwanted(parts, artifact, messageOf(thrown), signal);
    }
  }
}

/** A released worker tells no digest, without which no upload is taken: its file is read once more. */
async function withDigest(
  { worker }: AggregationParts,
  artifact: WorkerArtifact,
  signal: AbortSignal,
): Promise<WorkerArtifact> {
  if (artifact.sha256 !== undefined) return artifact;
  const hash = createHash("sha256");
  for await (const bytes of await worker.download(artifact.artifactId, signal)) hash.update(bytes);
  return { ...artifact, sha256: hash.digest("hex") };
}

/** A file that the API does not take as it is holds up nothing: whoever reads the log is told. Said again it is the same line. */
async function tellUnwanted(
  parts: AggregationParts,
  { artifactId, stepId, name }: WorkerArtifact,
  problem: string,
  signal: AbortSignal,
): Promise<void> {
  parts.log.warn("wharf-api does not take an artifact as it is", { step: stepId, artifact: name, problem });
  await tellInLog(parts, artifactId, `artifact ${JSON.stringify(name)} of step ${stepId}: ${problem}`, signal);
}

/** Steps and stages in the members of a build's status. A released worker has no document of its build. */
const stepsOf = (build: WorkerBuild | undefined): JsonObject =>
  build === undefined
    ? {}
    : {
        steps: build.steps.map((step) => ({ ...step })),
        stages: build.stages.map((stage) => ({ ...stage, steps: [...stage.steps] })),
      };

/** The end of a build in the words of wharf-api. */
interface End {
  readonly word: BuildWord;
  readonly told: JsonObject;
}

/** The end, from what the worker says of the whole build and never from one of its steps. */
function endOf(build: WorkerBuild): End {
  if (build.status === "Success") return { word: "Completed", told: stepsOf(build) };
  const { status, reason = status === "Cancelled" ? "Canceled" : "BuildFailed", message } = build;
  return { word: "Failed", told: { ...stepsOf(build), reason, ...(message === undefined ? {} : { message }) } };
}

/** The end of a build whose worker tells of its steps only, when all of them have told everything. */
const endOfSteps = (statuses: readonly StepStatus[]): End =>
  statuses.some((status) => status === "Failed" || status === "Cancelled")
    ? { word: "Failed", told: { reason: "BuildFailed" } }
    : { word: "Completed", told: {} };
