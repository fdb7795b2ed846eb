import { writeFile } from "node:fs/promises";
import type { Clock } from "#lib/base/index.ts";
import { buildFile } from "../../results/results.ts";
import { readDocument } from "../../results/stored-documents.ts";
import { cloneProject } from "../clone-project.ts";
import { type Failure, writeFailedResults } from "../failed-results.ts";
import {
  accessTokenFile,
  claimWorker,
  dropRequest,
  inputsFile,
  lastOutput,
  type LaunchRequest,
  outputFile,
  repositoryDirectory,
  resultsDirectory,
  takeRequest,
} from "./worker-directory.ts";

export interface LaunchWorld {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Runs `slipway wharf run --serve` in this process and returns the exit code. */
  readonly run: (build: HostedBuild) => Promise<number>;
  readonly say: (line: string) => void;
  readonly keepOutput: (file: string) => void;
}

export interface HostedBuild {
  readonly project: string;
  readonly resultsDir: string;
  readonly runtime: LaunchRequest["runtime"];
  readonly instance: string;
  readonly buildId?: number;
  readonly projectId?: number;
  readonly environment?: string;
  readonly stage?: readonly string[];
  /** A file, because inputs may be secret. */
  readonly inputFile: string;
  readonly address: string;
  /** Mode 0600; absent if no token is required. */
  readonly authTokenFile?: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** Exit codes from here on mean signals. */
const firstSignalCode = 128;

const mostLines = 200;

/** Claims the directory, clones and becomes the worker. A second program for the directory exits without effect. */
export async function launchWorker(directory: string, launch: string, world: LaunchWorld): Promise<number> {
  if (!(await claimWorker(directory))) {
    await dropRequest(directory, launch);
    return 0;
  }
  const request = await takeRequest(directory, launch);
  if (request.keepsOutput === true) world.keepOutput(outputFile(directory));
  const results = resultsDirectory(directory);
  const fail = async (failure: Failure): Promise<number> => {
    await writeFailedResults(results, request, failure, world.clock);
    return 1;
  };
  const project = await cloneProject(repositoryDirectory(directory), request, world);
  if ("reason" in project) return await fail(project);
  await writeFile(inputsFile(directory), JSON.stringify(request.inputs), { mode: 0o600 });
  const { accessToken } = request;
  if (accessToken !== undefined) await writeFile(accessTokenFile(directory), accessToken, { mode: 0o600 });
  const code = await world.run(hostedBuild(directory, project.directory, request)).catch((thrown: unknown) => {
    if (world.signal.aborted) return firstSignalCode;
    throw thrown;
  });
  // The build could not begin and has printed why.
  if ((await readDocument(buildFile(results))) !== undefined) return code;
  const lines = await lastOutput(directory, mostLines);
  if (code >= firstSignalCode) return await fail({ reason: "Cancelled", message: "cancelled before the build", lines });
  return await fail({ reason: "NotStarted", message: `the build did not begin (exit code ${code})`, lines });
}

function hostedBuild(directory: string, project: string, request: LaunchRequest): HostedBuild {
  const { runtime, instance, buildRef, projectId, environment, stages, variables, accessToken } = request;
  const { address = "127.0.0.1:0" } = request;
  return {
    project,
    resultsDir: resultsDirectory(directory),
    runtime,
    instance,
    ...(buildRef === 0 ? {} : { buildId: buildRef }),
    ...(projectId === 0 ? {} : { projectId }),
    ...(environment === undefined ? {} : { environment }),
    ...(stages === undefined ? {} : { stage: [stages] }),
    inputFile: inputsFile(directory),
    address,
    ...(accessToken === undefined ? {} : { authTokenFile: accessTokenFile(directory) }),
    variables: Object.fromEntries(Object.entries(variables).map(([name, value]) => [`WHARF_VAR_${name}`, value])),
  };
}
