import { spawn } from "node:child_process";
import { readdir, realpath, rm, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { type Clock, codeOf, err, messageOf, type Millis, ok, oneLine, type Result, sleep } from "#lib/base/index.ts";
import { childEnd } from "#lib/base/index.node.ts";
import { gitEnvironment, type GitFailure, gitFailureOf } from "#kernel/git/index.ts";
import { withoutValues } from "#kernel/streams/index.ts";
import { type CloneRequest, cloneSteps, type GitStep } from "./clone-steps.ts";

export interface CloneWorld {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

interface CloneFailure {
  readonly reason: GitFailure | "Aborted";
  readonly lines: readonly string[];
}

const waits: readonly Millis[] = [1000, 4000];

const mostLines = 50;
const longestLine = 2000;

/** Clones with the machine's Git in three attempts, unless the credential or name is wrong. Nothing is left on failure.
 * The token is only in Git's environment. */
export async function clone(request: CloneRequest, world: CloneWorld): Promise<Result<void, CloneFailure>> {
  const hidden = [request.token, request.source.password].filter((value) => value !== undefined);
  const say = (line: string): void => world.say(withoutValues(line, hidden));
  for (let attempt = 0; ; attempt++) {
    await clear(request.directory);
    const lines = await attemptClone(request, { ...world, say });
    if (lines === undefined) return ok(undefined);
    await clear(request.directory);
    const told = lines.map((line) => withoutValues(line, hidden));
    if (world.signal.aborted) return err({ reason: "Aborted", lines: told });
    const reason = gitFailureOf(lines);
    const wait = waits[attempt];
    if (reason !== "Unreachable" || wait === undefined) return err({ reason, lines: told });
    say(`cloning failed; trying again in ${wait / 1000} s`);
    const isAborted = await sleep(world.clock, wait, world.signal).then(
      () => false,
      () => true,
    );
    if (isAborted) return err({ reason: "Aborted", lines: told });
  }
}

async function clear(directory: string): Promise<void> {
  const remove = (path: string) => rm(path, { recursive: true, force: true });
  try {
    await remove(directory);
  } catch (thrown) {
    if (codeOf(thrown) !== "EBUSY") throw thrown;
    for (const name of await readdir(directory)) await remove(join(directory, name));
  }
}

async function attemptClone(request: CloneRequest, world: CloneWorld): Promise<readonly string[] | undefined> {
  const environment = gitEnvironment(request, world.environment);
  for (const step of cloneSteps(request)) {
    const failed = await runStep(step, { ...world, environment });
    if (failed !== undefined) return failed;
  }
  return undefined;
}

async function runStep({ words, otherwise = [] }: GitStep, world: CloneWorld): Promise<readonly string[] | undefined> {
  const failed = await runGit(words, world);
  if (failed === undefined || otherwise.length === 0 || world.signal.aborted) return failed;
  if (gitFailureOf(failed) === "Authentication") return failed;
  for (const other of otherwise) {
    const again = await runGit(other, world);
    if (again !== undefined) return again;
  }
  return undefined;
}

async function runGit(
  words: readonly string[],
  { environment, clock, signal, say }: CloneWorld,
): Promise<readonly string[] | undefined> {
  const last: string[] = [];
  let rest = "";
  const tell = (line: string): void => {
    if (line.trim() === "") return;
    const told = oneLine(line).slice(0, longestLine);
    last.push(told);
    if (last.length > mostLines) last.shift();
    say(told);
  };
  const child = spawn("git", words, { env: environment, signal, stdio: ["ignore", "pipe", "pipe"] });
  const take = (chunk: Buffer): void => {
    const parts = `${rest}${chunk.toString()}`.split(/[\r\n]+/);
    rest = parts.pop()?.slice(-longestLine) ?? "";
    for (const part of parts) tell(part);
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  try {
    const code = await childEnd(child, clock);
    tell(rest);
    return code === 0 ? undefined : last;
  } catch (thrown) {
    tell(`git: ${messageOf(thrown)}`);
    return last;
  }
}

/** The project's directory in the clone. Links out of the clone are errors. */
export async function projectDirectory(
  directory: string,
  subDirectory: string | undefined,
): Promise<Result<string, string>> {
  if (subDirectory === undefined) return ok(directory);
  const root = await realpath(directory);
  const path = join(root, subDirectory);
  const found = await realpath(path).catch(() => undefined);
  if (found === undefined) return err(`the repository has no directory ${subDirectory}`);
  if (found !== root && !found.startsWith(root + sep)) return err(`${subDirectory} leads out of the repository`);
  return (await stat(found)).isDirectory() ? ok(path) : err(`${subDirectory} is no directory of the repository`);
}
