import { rm } from "node:fs/promises";
import type { Clock } from "#lib/base/index.ts";
import { createResults } from "../results/results-store.ts";
import type { WorkerRequest } from "./parameters.ts";

export interface Failure {
  /** For programs: `CloneFailed`, `NotStarted`, `WorkerCrashed`, `Cancelled`. */
  readonly reason: string;
  readonly message: string;
  /** The log of step 0. */
  readonly lines: readonly string[];
}

export type FailedBuild = Pick<WorkerRequest, "buildRef" | "projectId" | "instance"> & { readonly runtime: string };

/** Writes results of a build that failed before its first step; replaces the directory. */
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
