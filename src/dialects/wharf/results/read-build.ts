import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { BuildDocument } from "./build-document.ts";
import { resultsError } from "./errors.ts";
import { buildFile } from "./results.ts";
import { invalid, readDocument } from "./stored-documents.ts";

/** The build document; for stores of earlier workers, which have none, it is derived from the step directories. Rejects
 * with `results-invalid` if there are no results. */
export async function readBuild(directory: string): Promise<BuildDocument> {
  const path = buildFile(directory);
  const document = await readDocument(path);
  if (document === undefined) return foreignBuild(directory);
  if (document["version"] !== 1) throw invalid(path, "version", "1", document["version"]);
  if (!isBuild(document)) throw invalid(path, "", "steps with a number, stages, and whether it is frozen", document);
  return document;
}

const isBuild = (document: object): document is BuildDocument =>
  "frozen" in document &&
  typeof document.frozen === "boolean" &&
  "stages" in document &&
  Array.isArray(document.stages) &&
  "steps" in document &&
  Array.isArray(document.steps) &&
  document.steps.every(
    (step: unknown) =>
      typeof step === "object" && step !== null && "stepId" in step && Number.isSafeInteger(step.stepId),
  );

/** A step's directory, or its log as in RFC-0025. */
const stepName = /^(\d{1,9})(?:\.log)?$/;

async function foreignBuild(directory: string): Promise<BuildDocument> {
  const names = await readdir(join(directory, "steps")).catch((thrown: unknown) => {
    const problem = `${directory}: expected the results of a build, found neither build.json nor steps`;
    throw resultsError("results-invalid", problem, { cause: thrown });
  });
  const ids = new Set(names.flatMap((name) => stepName.exec(name)?.[1] ?? []).map(Number));
  const steps = [...ids]
    .toSorted((a, b) => a - b)
    .map((stepId) => ({ ...unknownStep, stepId, name: `step ${stepId}` }));
  return { ...unknownBuild, buildId: Number(/^\d+/.exec(basename(directory))?.[0] ?? 0), steps };
}

const unknownStep = {
  stageId: 0,
  type: "",
  image: "",
  status: "None",
  exitCode: null,
  startedAt: null,
  finishedAt: null,
} as const;

const unknownBuild = {
  version: 1,
  projectId: 0,
  instance: "",
  runtime: "",
  definitionSha256: "",
  startedAt: null,
  finishedAt: null,
  status: "None",
  frozen: true,
  stages: [],
} as const;
