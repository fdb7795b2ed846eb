import { rm } from "node:fs/promises";
import type { Clock } from "#lib/base/index.ts";
import { createResults } from "../results/results-store.ts";
import type { WorkerRequest } from "./parameters.ts";

/** Why there was no build. */
export interface Failure {
  /** For programs: `CloneFailed`, `NotStarted`, `WorkerCrashed`, `Cancelled`. */
  readonly reason: string;
  readonly message: string;
  /** What people should read; the log of step 0. */
  readonly lines: readonly string[];
}

/** Whom the results of a failure are of. */
export type FailedBuild = Pick<WorkerRequest, "buildRef" | "projectId" | "instance"> & { readonly runtime: string };

/**
 * Results of a build that has not come to its first step: Failed, with what was said as the log of step 0. They are read and served like
 * those of any build. What is in the directory is no results of a build, and goes.
 */
export async function writeFailedResults(
  directory: string,
  { buildRef: buildId, projectId, instance, runtime }: FailedBuild,
  { reason, message, lines }: Failure,
  clock: Clock,
): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  const stages = [{ stageId: 0, name: "prepare", runsIf: "success" }] as const;
  const steps = [{ stepId: 0, stageId: 0, name: "prepare", type: "", image: "" }];
  const build = { buildId, projectId, instance, runtime, definitionSha256: "", stages, steps };
  const results = await createResults(directory, build, { clock });
  const status = reason === "Cancelled" ? "Cancelled" : "Failed";
  await results.setStatus(0, "Initializing");
  const log = await results.openLog(0);
  log.append("slipway", Buffer.from([...lines, message].map((line) => `${line}\n`).join("")));
  await results.setStatus(0, status);
  await results.setStageStatus(0, status);
  await results.finish({ status, reason, message });
  await results.close();
}
