import { type ChildProcess, spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { codeOf, messageOf, toError } from "#lib/base/index.ts";
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
 * Spawns a task as the leader of its own session and process group, with stdin at /dev/null and no other descriptors of
 * ours. An outcome means that it could not start and nothing is left. Rejects if no pipe can be opened.
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
  const spawned = spawnChild(prepared, task, pipes, supervisor);
  for (const pipe of pipes) closeWritingEnd(pipe);
  const failed = async (failure: Error): Promise<TaskOutcome> =>
    notStarted(values, failureCode(failure), await explainFailure(failure, task), clock.now());
  if (!("pid" in spawned)) {
    const failure = await spawned;
    for (const pipe of pipes) pipe.release(true);
    return failed(failure);
  }
  const { child, pid } = spawned;
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
  // A supervisor killed meanwhile does not read.
  child.stdin?.on("error", () => undefined).end("!");
  const failure = await started;
  const outcome = afterwards(process.ended, async () => status.release(true));
  if (failure === undefined) return { ...process, ended: outcome };
  await outcome;
  return failed(failure);
}

/** The supervisor learns by the last pipe that it has no reader. */
const acquirePipes = (pool: PipePool, isSupervised: boolean) =>
  pool.acquireAll(...(isSupervised ? [{ outlives: true }, { outlives: true }, {}] : [{}, {}])) as Promise<
    readonly [Pipe, Pipe, Pipe?]
  >;

/** Programs cannot be given zero bytes. Node's own error quotes the text around it, which may be a secret. */
function zeroByteIn({ command, env, workingDirectory }: Task): string | undefined {
  const place = command.findIndex((text) => text.includes("\0"));
  if (place >= 0) return `${place === 0 ? "the program's name" : `argument ${place}`} holds a zero byte`;
  const variable = Object.entries(env).find(([name, value]) => name.includes("\0") || value.includes("\0"));
  if (variable !== undefined) return `variable ${variable[0].replaceAll("\0", "?")} holds a zero byte`;
  return workingDirectory.includes("\0") ? "the working directory holds a zero byte" : undefined;
}

/** What to spawn, or why that is not possible. The task's mount points are held from then on and must be released. */
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
): Spawned | Promise<Error> {
  const outputs = [stdout?.descriptor, stderr?.descriptor] as const;
  const reports = command.reportsOn3 ? (["pipe"] as const) : [];
  if (supervisor === undefined || status === undefined)
    return spawnLeader(command, task.env, ["ignore", ...outputs, ...reports]);
  const { env, ...supervised } = supervisedCommand(supervisor, command, task.env);
  const stdio = ["pipe", ...outputs, reports[0] ?? "ignore", status.descriptor] as const;
  return spawnLeader({ ...command, ...supervised }, env, stdio);
}

interface Spawned {
  readonly child: ChildProcess;
  readonly pid: number;
}

/** Spawns the leader of a session and process group of its own, or resolves with the reason why that failed. */
export function spawnLeader(
  { program, args, cwd, user }: HostCommand,
  env: Task["env"],
  stdio: readonly ("pipe" | "ignore" | number | undefined)[],
): Spawned | Promise<Error> {
  try {
    const child = spawn(program, args, { cwd, env: { ...env }, detached: true, stdio: [...stdio], ...user });
    const { pid } = child;
    return pid === undefined ? new Promise((resolve) => child.once("error", resolve)) : { child, pid };
  } catch (thrown) {
    // Node throws some failures (no descriptors left) and emits others.
    return Promise.resolve(toError(thrown));
  }
}

// The kernel reports ENOENT for a missing program, interpreter or working directory.
export async function explainFailure(failure: Error, task: Task): Promise<string> {
  const directory = await stat(task.workingDirectory).catch(() => undefined);
  if (directory === undefined) return `working directory ${task.workingDirectory} does not exist`;
  if (!directory.isDirectory()) return `working directory ${task.workingDirectory} is not a directory`;
  if (codeOf(failure) === "ENOENT") return `program ${task.command[0]} was not found`;
  if (codeOf(failure) === "EACCES") return `program ${task.command[0]} may not be executed`;
  return `program ${task.command[0]} cannot be started: ${failure.message}`;
}

export const exitOf = (child: ChildProcess): Promise<Exit> =>
  new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));

const longestReport = 4_096;

/** What the preparation wrote to descriptor 3; empty if the command was reached. */
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
