import { randomUUID } from "node:crypto";
import { link, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, messageOf } from "#lib/base/index.ts";
import { makeDirectories, type Owner, readTextIfPresent, thisProcess } from "#lib/base/index.node.ts";
import { writeJson } from "../../results/json-file.ts";
import { provisionerError } from "../errors.ts";
import type { WorkerIdentity } from "../backend.ts";
import type { WorkerRequest } from "../parameters.ts";

// A worker's private directory: requests (removed once read), worker.json (whose it is), owner.json (the process
// that claimed it), output.log, access-token, inputs.json, repository/ and results/.

export interface LaunchRequest extends WorkerRequest {
  readonly runtime: "host" | "docker";
  readonly accessToken?: string | undefined;
  readonly address?: string | undefined;
  /** The program itself keeps its output. */
  readonly keepsOutput?: boolean | undefined;
}

export type WorkerFacts = Pick<LaunchRequest, "buildRef" | "projectId" | "instance" | "runtime">;

/** The end of a uid is random; its beginning may be shared. */
export const directoryName = ({ name, uid }: WorkerIdentity): string => `${name}.${uid.slice(-12)}`;

const requestPrefix = "request-";
export const requestFile = (directory: string, launch: string): string =>
  join(directory, `${requestPrefix}${launch}.json`);
export const factsFile = (directory: string): string => join(directory, "worker.json");
export const ownerFile = (directory: string): string => join(directory, "owner.json");
export const outputFile = (directory: string): string => join(directory, "output.log");
export const inputsFile = (directory: string): string => join(directory, "inputs.json");
export const accessTokenFile = (directory: string): string => join(directory, "access-token");
export const repositoryDirectory = (directory: string): string => join(directory, "repository");
export const resultsDirectory = (directory: string): string => join(directory, "results");

export async function writeRequest(directory: string, request: LaunchRequest): Promise<string> {
  const launch = randomUUID();
  await makeDirectories(directory, 0o700);
  await writeJson(factsFile(directory), factsIn(request), `${factsFile(directory)}.${launch}`);
  const path = requestFile(directory, launch);
  await writeJson(path, request, `${path}.next`, true);
  return launch;
}

export const factsIn = ({ buildRef, projectId, instance, runtime }: LaunchRequest): WorkerFacts => ({
  buildRef,
  projectId,
  instance,
  runtime,
});

/** Reads a request and removes all of them, because they may contain tokens. */
export async function takeRequest(directory: string, launch: string): Promise<LaunchRequest> {
  const path = requestFile(directory, launch);
  try {
    // Written atomically by `writeRequest`.
    const request = JSON.parse(await readFile(path, "utf8")) as LaunchRequest;
    await dropRequests(directory, ".json");
    return request;
  } catch (thrown) {
    const problem = `${path}: expected the request of a worker: ${messageOf(thrown)}`;
    throw provisionerError("worker-directory", problem, { cause: thrown });
  }
}

/** Without `ending` also unfinished ones. */
export async function dropRequests(directory: string, ending = ""): Promise<void> {
  for (const name of await readdir(directory))
    if (name.startsWith(requestPrefix) && name.endsWith(ending)) await rm(join(directory, name), { force: true });
}

export const dropRequest = (directory: string, launch: string): Promise<void> =>
  rm(requestFile(directory, launch), { force: true });

export async function readAccessToken(directory: string): Promise<string | undefined> {
  return await readTextIfPresent(accessTokenFile(directory));
}

/** A crash of the machine may have lost the file. */
export async function readFacts(directory: string): Promise<WorkerFacts> {
  const text = await readTextIfPresent(factsFile(directory));
  return text === undefined || text === "" ? nobodys : (JSON.parse(text) as WorkerFacts);
}

const nobodys: WorkerFacts = { buildRef: 0, projectId: 0, instance: "", runtime: "host" };

/** Claims the directory for this process. False if it was ever claimed or is gone: a worker is never started again. */
export async function claimWorker(directory: string, owner: Owner = thisProcess()): Promise<boolean> {
  const draft = `${ownerFile(directory)}.${process.pid}`;
  try {
    await writeFile(draft, JSON.stringify(owner), { mode: 0o600 });
    // Unlike rename, link fails if the file exists.
    await link(draft, ownerFile(directory));
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST" || codeOf(thrown) === "ENOENT") return false;
    throw thrown;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Prevents any claim. */
export const noOwner: Owner = { host: "", pid: 0 };

export async function ownerOf(directory: string): Promise<Owner | undefined> {
  const text = await readTextIfPresent(ownerFile(directory));
  return text === undefined ? undefined : (JSON.parse(text) as Owner);
}

const blockBytes = 64 * 1024;

/** Reads only the end of the file. */
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
