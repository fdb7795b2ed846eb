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

/** What the program of a worker has beside its directory. */
export interface LaunchWorld {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborts when the program is asked to end before its build has begun. */
  readonly signal: AbortSignal;
  /** Becomes the worker, in this process: what `slipway wharf run --serve` does. Answers with its exit code. */
  readonly run: (build: HostedBuild) => Promise<number>;
  /** Takes lines for the file with the output. */
  readonly say: (line: string) => void;
  /** From now on everything that the program says is also put at the end of this file. Asked for at most once, before anything is said. */
  readonly keepOutput: (file: string) => void;
}

/** What a worker is told of its build, as the options of `slipway wharf run`. */
export interface HostedBuild {
  /** Where the definition is; absolute, as all paths are. */
  readonly project: string;
  readonly resultsDir: string;
  readonly runtime: LaunchRequest["runtime"];
  readonly instance: string;
  readonly buildId?: number;
  readonly projectId?: number;
  readonly environment?: string;
  /** Names divided by commas. */
  readonly stage?: readonly string[];
  /** Inputs may be secret, and are in no argument list. */
  readonly inputFile: string;
  /** Of its results, `host:port`. */
  readonly address: string;
  /** Closed to others; holds what everybody must bring who asks there. Absent where anybody on this machine is answered. */
  readonly authTokenFile?: string;
  /** Beside those of the environment: `WHARF_VAR_…`. */
  readonly variables: Readonly<Record<string, string>>;
}

/** Exit codes of a program that was asked to end by a signal begin here. */
const firstSignalCode = 128;

/** Of what the program has said, when there is nothing else to tell of a build that did not begin. */
const mostLines = 200;

/**
 * The program of a worker on this machine: claims its directory, clones the repository, and is the worker from then on, as the same process.
 * Answers with the exit code. A second one for the same directory ends at once and has done nothing.
 */
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
  // A definition that cannot be read, an address that cannot be had: said, and nothing else was done.
  if ((await readDocument(buildFile(results))) !== undefined) return code;
  const lines = await lastOutput(directory, mostLines);
  if (code >= firstSignalCode) return await fail({ reason: "Cancelled", message: "cancelled before the build", lines });
  return await fail({ reason: "NotStarted", message: `the build did not begin (exit code ${code})`, lines });
}

/** What the worker of a request is told. */
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
