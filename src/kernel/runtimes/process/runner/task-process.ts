import { type ChildProcess, spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { codeOf, messageOf } from "#lib/base/index.ts";
import type { Task, TaskOutcome } from "../../contract.ts";
import { maskedValues } from "../../masked-values.ts";
import {
  afterwards,
  failureCode,
  followTask,
  type NoteBegun,
  notStarted,
  type SpawnContext,
  type TaskProcess,
} from "./follow-task.ts";
import { type HostCommand, hostCommand } from "./host-command.ts";
import { closeWritingEnd, type Pipe, type PipePool } from "./pipe-pool.ts";
import { type Exit, reportsOn, supervisedCommand } from "./supervisor.ts";

/**
 * Spawns a task as leader of its own session and process group, or returns an outcome if it could not start. Rejects if
 * this machine has no pipe for it. stdin is /dev/null; no descriptors are inherited.
 */
export async function spawnTask(
  task: Task,
  context: SpawnContext,
  note: NoteBegun,
): Promise<TaskProcess | TaskOutcome> {
  const values = maskedValues(task.maskedVariables ?? [], task.env);
  const prepared = await prepareTask(task, context);
  if (typeof prepared === "string") return notStarted(values, 128, prepared, context.clock.now());
  const { mounts = [] } = task;
  const release = () => context.mountPoints.release(mounts);
  try {
    const spawned = await spawnPrepared(prepared, { task, values }, context, note);
    if ("ended" in spawned) return { ...spawned, ended: afterwards(spawned.ended, release) };
    await release();
    return spawned;
  } catch (thrown) {
    await release();
    throw thrown;
  }
}

async function spawnPrepared(
  prepared: HostCommand,
  { task, values }: { readonly task: Task; readonly values: readonly string[] },
  context: SpawnContext,
  note: NoteBegun,
): Promise<TaskProcess | TaskOutcome> {
  const { clock, guard } = context;
  const supervisor = await context.supervisor;
  const [stdout, stderr, status] = await acquirePipes(context.pipes, supervisor !== undefined);
  const pipes = status === undefined ? [stdout, stderr] : [stdout, stderr, status];
  const startedAt = clock.now();
  const child = spawnChild(prepared, task, pipes, supervisor);
  for (const pipe of pipes) closeWritingEnd(pipe);
  const fail = async (failure: Error): Promise<TaskOutcome> => {
    for (const pipe of pipes) pipe.release(true);
    return notStarted(values, failureCode(failure), await explainFailure(failure, task), clock.now());
  };
  if (child instanceof Error) return fail(child);
  const { pid } = child;
  if (pid === undefined) return fail(await failureOf(child));
  guard?.add(pid);
  const running = { pid, startedAt, outputs: [stdout, stderr] as const, report: reportOf(child) };
  const facts = { ...task, values };
  if (status === undefined) {
    const process = followTask({ ...running, exited: exitOf(child) }, facts, context);
    await note({ pid, startedAt });
    return process;
  }
  const { started, exited } = reportsOn(status);
  const process = followTask({ ...running, exited }, facts, context);
  const { logPath, logRotation, maskedVariables, message, mounts } = task;
  const names = [stdout.name, stderr.name, status.name] as const;
  await note({ pid, startedAt, handover: { logPath, logRotation, maskedVariables, message, mounts, pipes: names } });
  // The supervisor was killed.
  child.stdin?.on("error", () => undefined).end("!");
  const failure = await started;
  const outcome = afterwards(process.ended, async () => status.release(true));
  if (failure === undefined) return { ...process, ended: outcome };
  await outcome;
  return notStarted(values, failureCode(failure), await explainFailure(failure, task), clock.now());
}

/** For output and a supervisor's reports; some of them alone would stay open forever. */
async function acquirePipes(pool: PipePool, isSupervised: boolean): Promise<readonly [Pipe, Pipe, Pipe?]> {
  const pipes: Pipe[] = [];
  try {
    for (let count = 0; count < 2; count++) pipes.push(await pool.acquire({ outlives: isSupervised }));
    // A supervisor sees by this one that nobody reads.
    if (isSupervised) pipes.push(await pool.acquire());
    return pipes as [Pipe, Pipe, Pipe?];
  } catch (thrown) {
    for (const pipe of pipes) {
      closeWritingEnd(pipe);
      pipe.release(true);
    }
    throw thrown;
  }
}

/** No program can be given a zero byte. Node's refusal quotes the text, which may be a secret. */
function zeroByteIn({ command, env, workingDirectory }: Task): string | undefined {
  const place = command.findIndex((text) => text.includes("\0"));
  if (place >= 0) return `${place === 0 ? "the program's name" : `argument ${place}`} holds a zero byte`;
  const variable = Object.entries(env).find(([name, value]) => name.includes("\0") || value.includes("\0"));
  if (variable !== undefined) return `variable ${variable[0].replaceAll("\0", "?")} holds a zero byte`;
  return workingDirectory.includes("\0") ? "the working directory holds a zero byte" : undefined;
}

/** What to spawn, or why that is impossible. Mount places are held from then on. */
export async function prepareTask(
  task: Task,
  context: Pick<SpawnContext, "namespaceTools" | "mountPoints">,
): Promise<HostCommand | string> {
  const problem = zeroByteIn(task);
  if (problem !== undefined) return problem;
  if (task.mounts === undefined || task.mounts.length === 0) return hostCommand(task, undefined);
  const tools = await context.namespaceTools();
  if (typeof tools === "string") return `files cannot be mounted: ${tools}`;
  try {
    await context.mountPoints.acquire(task.mounts);
  } catch (thrown) {
    return `a mount cannot be prepared: ${messageOf(thrown)}`;
  }
  return hostCommand(task, tools);
}

function spawnChild(
  command: HostCommand,
  task: Task,
  [stdout, stderr, status]: readonly Pipe[],
  supervisor: string | undefined,
): ChildProcess | Error {
  const { program, args, env } =
    supervisor === undefined ? { ...command, env: { ...task.env } } : supervisedCommand(supervisor, command, task.env);
  const outputs = [stdout?.descriptor, stderr?.descriptor] as const;
  const reports = command.reportsOn3 ? (["pipe"] as const) : [];
  try {
    return spawn(program, args, {
      cwd: command.cwd,
      env,
      detached: true,
      stdio:
        status === undefined
          ? ["ignore", ...outputs, ...reports]
          : ["pipe", ...outputs, reports[0] ?? "ignore", status.descriptor],
      ...command.user,
    });
  } catch (thrown) {
    // Node throws some failures (no descriptors left) and emits others.
    return thrown instanceof Error ? thrown : new Error(String(thrown));
  }
}

export const failureOf = (child: ChildProcess): Promise<Error> =>
  new Promise((resolve) => child.once("error", resolve));

// The kernel says ENOENT alike for a missing program, interpreter or working directory.
export async function explainFailure(failure: Error, task: Task): Promise<string> {
  const directory = await stat(task.workingDirectory).catch(() => undefined);
  if (directory === undefined) return `working directory ${task.workingDirectory} does not exist`;
  if (!directory.isDirectory()) return `working directory ${task.workingDirectory} is not a directory`;
  if (codeOf(failure) === "ENOENT") return `program ${task.command[0]} was not found`;
  if (codeOf(failure) === "EACCES") return `program ${task.command[0]} may not be executed`;
  return `program ${task.command[0]} cannot be started: ${failure.message}`;
}

const exitOf = (child: ChildProcess): Promise<Exit> =>
  new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));

const longestReport = 4_096;

/** What the preparation wrote to descriptor 3: empty if the command was reached. */
function reportOf(child: ChildProcess): Promise<string> {
  const pipe = child.stdio[3];
  if (pipe === null || pipe === undefined || !("on" in pipe)) return Promise.resolve("");
  return new Promise((resolve) => {
    let text = "";
    pipe.on("data", (chunk: Buffer) => {
      if (text.length < longestReport) text += chunk.toString();
    });
    pipe.once("close", () => resolve(text.trim()));
    pipe.once("error", () => resolve(text.trim()));
  });
}
