import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { reasons } from "#engine/index.ts";
import { withoutValues } from "#kernel/streams/index.ts";
import { codeOf, messageOf, type Millis, type Result } from "#lib/base/index.ts";
import { removeTree } from "#lib/base/index.node.ts";
import type { StepPlan } from "../plan/step-plan.ts";
import type { StepStatus } from "../results/build-document.ts";
import { workDirectory } from "../results/results.ts";
import type { ResultsStore } from "../results/results-store.ts";
import type { ArtifactSource } from "../results/store-artifact.ts";
import type { StepLogWriter } from "../results/step-log-writer.ts";
import type { StepEnd, StepJob, StepRepository, StepRuntime } from "./step-runtime.ts";

export interface StepMaterial extends Pick<StepJob, "env" | "overlay" | "mounts"> {
  readonly masked: readonly string[];
  readonly remarks?: readonly string[];
}

export interface StepSurroundings {
  readonly results: ResultsStore;
  readonly runtime: StepRuntime;
  readonly repository: StepRepository;
  readonly materialOf: (step: StepPlan) => Promise<Result<StepMaterial, string>>;
  readonly masked: readonly string[];
  readonly graceMs: Millis;
  readonly isKept?: boolean;
}

type PlainEnd = Omit<StepEnd, "artifacts">;

/** Runs a step from its first status to its last, which is reported when log and artifacts are complete. Rejects only
 * for internal faults, never because of the disk. */
export async function carryOutStep(
  step: StepPlan,
  signal: AbortSignal,
  surroundings: StepSurroundings,
): Promise<PlainEnd> {
  const { results, isKept = false } = surroundings;
  const { stepId } = step;
  const directory = join(workDirectory(results.directory), `${stepId}`);
  // Not awaited: the step does not wait for the disk. After an internal fault the results accept nothing more.
  const tell = (status: StepStatus): void => void results.setStatus(stepId, status).catch(() => undefined);
  tell("Scheduling");
  // In parallel: both wait for the disk.
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

interface Running extends Pick<StepJob, "onPhase"> {
  readonly material: StepMaterial;
  readonly directory: string;
  readonly log: StepLogWriter;
  readonly signal: AbortSignal;
}

function runStep(
  step: StepPlan,
  { material, ...running }: Running,
  { runtime, repository, graceMs }: StepSurroundings,
): Promise<StepEnd> {
  const { env, overlay, mounts } = material;
  return runtime.run({ ...running, step, env, repository, overlay, mounts, graceMs });
}

const withoutSecrets = (end: StepEnd, masked: readonly string[]): StepEnd =>
  end.message === undefined ? end : { ...end, message: withoutValues(end.message, masked) };

/** A step that reached its timeout was aborted by the worker but has failed. */
function timed(end: StepEnd, { timeoutMs = 0 }: StepPlan, { reason }: AbortSignal): StepEnd {
  if (end.status !== "Cancelled" || reason !== reasons.timeout) return end;
  return { ...end, status: "Failed", reason: "Timeout", message: `not finished within ${timeoutMs / 1000}s` };
}

/** A step that leaves too many artifacts fails. */
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

/** File names are visible like logs, so secrets in them are masked. */
async function* shownNames(
  sources: AsyncIterable<ArtifactSource>,
  masked: readonly string[],
): AsyncGenerator<ArtifactSource, void> {
  for await (const source of sources) yield { ...source, name: withoutValues(source.name, masked) };
}
