import { randomUUID } from "node:crypto";
import { link, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, messageOf } from "#lib/base/index.ts";
import { makeDirectories, thisProcess, type Owner } from "#lib/base/index.node.ts";
import { writeJson } from "../../results/json-file.ts";
import { provisionerError } from "../errors.ts";
import type { WorkerIdentity } from "../backend.ts";
import type { WorkerRequest } from "../parameters.ts";

// The directory of one worker of this machine, closed to others:
//
//   request-….json what it is to do, with inputs and token, for each program that is started; gone as soon as one has read it
//   worker.json    whose it is
//   owner.json     which process is this worker: whoever has linked it, for ever
//   output.log     what its program says
//   access-token   what it asks of everybody who reads its results or cancels it, where it asks for anything
//   inputs.json    values of inputs, for the build
//   repository/    the clone
//   results/       what the build leaves

/** What the program of a worker is told. */
export interface LaunchRequest extends WorkerRequest {
  /** Where steps run. */
  readonly runtime: "host" | "docker";
  /** What the worker asks of everybody; anybody is answered without one. */
  readonly accessToken?: string | undefined;
  /** Where it serves its results, `host:port`; any port of loopback when absent. */
  readonly address?: string | undefined;
  /** What its program says is kept in the directory by the program itself: nobody else does. */
  readonly keepsOutput?: boolean | undefined;
}

/** Of a request what is nobody's secret. */
export type WorkerFacts = Pick<LaunchRequest, "buildRef" | "projectId" | "instance" | "runtime">;

/** The end of a uid is chance; its beginning is a clock, which workers of one name can share. */
export const directoryName = ({ name, uid }: WorkerIdentity): string => `${name}.${uid.slice(-12)}`;

const requestPrefix = "request-";
/** What the program that is called `launch` is to do. */
export const requestFile = (directory: string, launch: string): string =>
  join(directory, `${requestPrefix}${launch}.json`);
/** Whose the directory is. */
export const factsFile = (directory: string): string => join(directory, "worker.json");
/** Which process is the worker. */
export const ownerFile = (directory: string): string => join(directory, "owner.json");
/** What the program of a worker says, to both of its streams. */
export const outputFile = (directory: string): string => join(directory, "output.log");
/** Values of inputs, which may be passwords. */
export const inputsFile = (directory: string): string => join(directory, "inputs.json");
/** What the worker asks of everybody. */
export const accessTokenFile = (directory: string): string => join(directory, "access-token");
export const repositoryDirectory = (directory: string): string => join(directory, "repository");
export const resultsDirectory = (directory: string): string => join(directory, "results");

/** Makes the directory and writes down what a program is to do there; answers what to call it by. */
export async function writeRequest(directory: string, request: LaunchRequest): Promise<string> {
  const launch = randomUUID();
  await makeDirectories(directory, 0o700);
  await writeJson(factsFile(directory), factsIn(request), `${factsFile(directory)}.${launch}`);
  const path = requestFile(directory, launch);
  await writeJson(path, request, `${path}.next`, true);
  return launch;
}

/** What of a request may stay in the directory. */
export const factsIn = ({ buildRef, projectId, instance, runtime }: LaunchRequest): WorkerFacts => ({
  buildRef,
  projectId,
  instance,
  runtime,
});

/** Reads the request of a program that has become the worker, and takes those of all away: they may hold a token. */
export async function takeRequest(directory: string, launch: string): Promise<LaunchRequest> {
  const path = requestFile(directory, launch);
  try {
    // It was written by `writeRequest`, whole.
    const request = JSON.parse(await readFile(path, "utf8")) as LaunchRequest;
    await dropRequests(directory, ".json");
    return request;
  } catch (thrown) {
    const problem = `${path}: expected the request of a worker: ${messageOf(thrown)}`;
    throw provisionerError("worker-directory", problem, { cause: thrown });
  }
}

/** Takes all requests away, when there is a worker; without `ending` also what a writer has left that was killed, and none is writing. */
export async function dropRequests(directory: string, ending = ""): Promise<void> {
  for (const name of await readdir(directory))
    if (name.startsWith(requestPrefix) && name.endsWith(ending)) await rm(join(directory, name), { force: true });
}

/** Takes the request of a program away that has come too late. */
export const dropRequest = (directory: string, launch: string): Promise<void> =>
  rm(requestFile(directory, launch), { force: true });

/** What the worker of the directory asks for, as it was told when it began; undefined where it asks for nothing. */
export async function readAccessToken(directory: string): Promise<string | undefined> {
  return await readFile(accessTokenFile(directory), "utf8").catch((thrown: unknown) => {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  });
}

/** Whose directory it is; nobody's where a crash of the machine has left nothing of that. */
export async function readFacts(directory: string): Promise<WorkerFacts> {
  const text = await readFile(factsFile(directory), "utf8").catch((thrown: unknown) => {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  });
  return text === undefined || text === "" ? nobodys : (JSON.parse(text) as WorkerFacts);
}

const nobodys: WorkerFacts = { buildRef: 0, projectId: 0, instance: "", runtime: "host" };

/**
 * Makes this process the worker of the directory. False when another one is or was: what has been begun is never begun again, however many
 * programs are started for it. False too when the directory is gone.
 */
export async function claimWorker(directory: string, owner: Owner = thisProcess()): Promise<boolean> {
  const draft = `${ownerFile(directory)}.${process.pid}`;
  try {
    await writeFile(draft, JSON.stringify(owner), { mode: 0o600 });
    // Unlike rename it fails when somebody else was faster.
    await link(draft, ownerFile(directory));
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST" || codeOf(thrown) === "ENOENT") return false;
    throw thrown;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Claims a directory that nobody is to claim any more. */
export const noOwner: Owner = { host: "", pid: 0 };

/** The process that has claimed the directory; undefined before one has. */
export async function ownerOf(directory: string): Promise<Owner | undefined> {
  const text = await readFile(ownerFile(directory), "utf8").catch((thrown: unknown) => {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  });
  return text === undefined ? undefined : (JSON.parse(text) as Owner);
}

const blockBytes = 64 * 1024;

/** The last lines that the program of a worker has said. Reads the end of the file alone. */
export async function lastOutput(directory: string, lines: number): Promise<readonly string[]> {
  const handle = await open(outputFile(directory)).catch(() => undefined);
  if (handle === undefined) return [];
  try {
    const { size } = await handle.stat();
    const from = Math.max(0, size - blockBytes);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from);
    const text = buffer.subarray(0, bytesRead).toString();
    return text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .slice(-lines);
  } finally {
    await handle.close();
  }
}
