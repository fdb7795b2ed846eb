// What is the same for every step, whatever it runs in: statuses in their order, a log that is complete before the last of them, artifacts, secrets
// that nobody sees, and a directory that is gone afterwards.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { reasons } from "#engine/index.ts";
import { withoutValues } from "#kernel/logs/index.ts";
import { codeOf, messageOf, type Millis, type Result } from "#lib/base/index.ts";
import { removeTree } from "#lib/base/index.node.ts";
import type { StepPlan } from "../plan/step-plan.ts";
import type { StepStatus } from "../results/build-document.ts";
import { workDirectory } from "../results/results.ts";
import type { ResultsStore } from "../results/results-store.ts";
import type { ArtifactSource } from "../results/store-artifact.ts";
import type { StepLogWriter } from "../results/step-log-writer.ts";
import type { StepEnd, StepJob, StepRepository, StepRuntime } from "./step-runtime.ts";

/** What of a step is known only when it starts. */
export interface StepMaterial extends Pick<StepJob, "env" | "overlay" | "mounts"> {
  /** Values that nobody may see, besides those that no step's output may show. */
  readonly masked: readonly string[];
  /** For whoever reads the log of the step. */
  readonly remarks?: readonly string[];
}

/** The build around a step. */
export interface StepSurroundings {
  readonly results: ResultsStore;
  readonly runtime: StepRuntime;
  readonly repository: StepRepository;
  /** Secrets, config maps and substituted files of a step; the error says what of it is not there. */
  readonly materialOf: (step: StepPlan) => Promise<Result<StepMaterial, string>>;
  /** Values that no output may show. */
  readonly masked: readonly string[];
  readonly graceMs: Millis;
  /** What a failed step has worked in stays. */
  readonly isKept?: boolean;
}

/** Its artifacts are in the results by then. */
type PlainEnd = Omit<StepEnd, "artifacts">;

/**
 * One step from its first status to its last one, which is told when its log is complete and what it has left is stored. Answers with how it ended;
 * rejects only for faults of ours, never for what the disk of the results does.
 */
export async function carryOutStep(
  step: StepPlan,
  signal: AbortSignal,
  surroundings: StepSurroundings,
): Promise<PlainEnd> {
  const { results, isKept = false } = surroundings;
  const { stepId } = step;
  const directory = join(workDirectory(results.directory), `${stepId}`);
  // In the files when it is; the step does not wait for that. A fault beside it may have ended the build by then, which takes no more.
  const tell = (status: StepStatus): void => void results.setStatus(stepId, status).catch(() => undefined);
  tell("Scheduling");
  // Side by side: neither needs the other, and both wait for the disk.
  const [material] = await Promise.all([surroundings.materialOf(step), mkdir(directory, { mode: 0o700 })]);
  const masked = [...surroundings.masked, ...(material.ok ? material.value.masked : [])];
  const log = await results.openLog(stepId, { masked });
  for (const remark of (material.ok && material.value.remarks) || [])
    log.append("slipway", Buffer.from(`[slipway] ${remark}\n`));
  const own = material.ok
    ? await runStep(step, { material: material.value, directory, log, signal, onPhase: tell }, surroundings)
    : ({ status: "Failed", exitCode: null, reason: "Material", message: material.error } as const);
  const end = withoutSecrets(await withArtifacts(step, timed(own, step, signal), { results, masked }), masked);
  if (end.message !== undefined && end.reason !== "ExitCode")
    log.append("slipway", Buffer.from(`[slipway] ${end.message}`));
  const { status, exitCode, reason, message } = end;
  // Side by side, too: what it has left is stored.
  await Promise.all([
    results.setStatus(stepId, status, exitCode, { reason, message }),
    status === "Success" || !isKept ? removeTree(directory) : undefined,
  ]);
  return {
    status,
    exitCode,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

/** What belongs to one step while it runs. */
interface Running extends Pick<StepJob, "onPhase"> {
  readonly material: StepMaterial;
  readonly directory: string;
  readonly log: StepLogWriter;
  readonly signal: AbortSignal;
}

/** Hands a step over to where it runs. */
function runStep(
  step: StepPlan,
  { material, ...running }: Running,
  { runtime, repository, graceMs }: StepSurroundings,
): Promise<StepEnd> {
  const { env, overlay, mounts } = material;
  return runtime.run({ ...running, step, env, repository, overlay, mounts, graceMs });
}

/** What is said of a step may repeat what it was given. */
const withoutSecrets = (end: StepEnd, masked: readonly string[]): StepEnd =>
  end.message === undefined ? end : { ...end, message: withoutValues(end.message, masked) };

/** A step whose time was over was ended by us, and has failed all the same. */
function timed(end: StepEnd, { timeoutMs = 0 }: StepPlan, { reason }: AbortSignal): StepEnd {
  if (end.status !== "Cancelled" || reason !== reasons.timeout) return end;
  return { ...end, status: "Failed", reason: "Timeout", message: `not finished within ${timeoutMs / 1000}s` };
}

/** Stores what the step has left, unless it was cancelled. More than may be kept is a failure of the step, whatever it has said itself. */
async function withArtifacts(
  step: StepPlan,
  end: StepEnd,
  { results, masked }: Pick<StepSurroundings, "results" | "masked">,
): Promise<StepEnd> {
  if (end.status === "Cancelled" || end.artifacts === undefined) return end;
  try {
    await results.addArtifacts(step.stepId, shownNames(end.artifacts, masked));
    return end;
  } catch (thrown) {
    if (end.status === "Failed") return end;
    const reason = codeOf(thrown) === "artifact-limit" ? "ArtifactLimit" : "Artifacts";
    return { status: "Failed", exitCode: end.exitCode, reason, message: messageOf(thrown) };
  }
}

/** A step may call a file as it likes; names are seen by whoever may list them, as logs are. */
async function* shownNames(
  sources: AsyncIterable<ArtifactSource>,
  masked: readonly string[],
): AsyncGenerator<ArtifactSource, void> {
  for await (const source of sources) yield { ...source, name: withoutValues(source.name, masked) };
}
