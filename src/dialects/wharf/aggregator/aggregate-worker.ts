import { createHash } from "node:crypto";
import { codeOf, type JsonObject, messageOf } from "#lib/base/index.ts";
import type { BuildWord } from "../state.ts";
import { isFinal, type StepStatus } from "../results/build-document.ts";
import type { WorkerBuild } from "../worker-api/worker-client.ts";
import type { WorkerArtifact } from "../worker-api/worker-messages.ts";
import { type AggregationParts, insist, tellInLog } from "./aggregation-parts.ts";
import { carryLines, confirmLines } from "./carry-lines.ts";

/** Transfers a worker's results to wharf-api and resolves when all lines are synced, all artifacts stored and the end
 * is reported. Stateless and idempotent: the API knows what it has. Rejects when the signal aborts or the API refuses.
 */
export async function aggregateWorker(parts: AggregationParts, signal: AbortSignal): Promise<void> {
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

/** The build is Running from its first step on; steps are reported as often as possible, always the latest state. */
async function carryStatuses(
  parts: AggregationParts,
  statuses: Map<number, StepStatus>,
  signal: AbortSignal,
): Promise<void> {
  const { worker, api } = parts;
  let [hasNews, isRunning] = [false, false];
  let telling: Promise<void> | undefined;
  const failed = new AbortController();
  const tell = async (): Promise<void> => {
    try {
      while (hasNews) {
        hasNews = false;
        const build = await insist(parts, signal, () => worker.build(signal));
        const isOver = build !== undefined && isFinal(build.status);
        if (isOver && isRunning) return;
        isRunning = true;
        await insist(parts, signal, () => api.putStatus("Running", isOver ? {} : stepsOf(build), signal));
      }
    } catch (thrown) {
      failed.abort(thrown);
    } finally {
      // Synchronously, so that a later update starts another report.
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

async function carryArtifacts(parts: AggregationParts, signal: AbortSignal): Promise<void> {
  const { worker, api } = parts;
  for await (const artifact of worker.artifacts(signal)) {
    try {
      // Restarted from the beginning: interrupted uploads are discarded.
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

/** Released workers send no digest, so the file is read twice. */
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

/** A refused file is reported in the log, as the same line if repeated. */
async function tellUnwanted(
  parts: AggregationParts,
  { artifactId, stepId, name }: WorkerArtifact,
  problem: string,
  signal: AbortSignal,
): Promise<void> {
  parts.log.warn("wharf-api rejected an artifact", { step: stepId, artifact: name, problem });
  await tellInLog(parts, artifactId, `artifact ${JSON.stringify(name)} of step ${stepId}: ${problem}`, signal);
}

/** Released workers have no build document. */
const stepsOf = (build: WorkerBuild | undefined): JsonObject =>
  build === undefined
    ? {}
    : {
        steps: build.steps.map((step) => ({ ...step })),
        stages: build.stages.map((stage) => ({ ...stage, steps: [...stage.steps] })),
      };

interface End {
  readonly word: BuildWord;
  readonly told: JsonObject;
}

function endOf(build: WorkerBuild): End {
  if (build.status === "Success") return { word: "Completed", told: stepsOf(build) };
  const { status, reason = status === "Cancelled" ? "Canceled" : "BuildFailed", message } = build;
  return { word: "Failed", told: { ...stepsOf(build), reason, ...(message === undefined ? {} : { message }) } };
}

const endOfSteps = (statuses: readonly StepStatus[]): End =>
  statuses.some((status) => status === "Failed" || status === "Cancelled")
    ? { word: "Failed", told: { reason: "BuildFailed" } }
    : { word: "Completed", told: {} };
