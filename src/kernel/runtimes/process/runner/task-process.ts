import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { stat } from "node:fs/promises";
import {
  afterAwake,
  type Cancel,
  type Clock,
  codeOf,
  deferred,
  type Instant,
  messageOf,
  type Millis,
} from "#lib/base/index.ts";
import { type LogStream, LogWriter } from "#kernel/logs/index.ts";
import type { Task, TaskOutcome } from "../../contract.ts";
import { maskLastWord } from "../../last-word.ts";
import { maskedValues, withoutMasked } from "../../masked-values.ts";
import { type HostCommand, hostCommand, type NamespaceTools } from "./host-command.ts";
import type { MountPoints } from "./mount-points.ts";
import { closeWritingEnd, type Pipe, type PipePool } from "./pipe-pool.ts";
import { signalGroup } from "#lib/base/index.node.ts";

/** Who must know which process groups live, to end them should this process not come to it. */
export interface GroupGuard {
  /** Called in the same turn as the spawn. */
  add(leader: number): void;
  /** Called when the leader has ended and its group was killed. */
  remove(leader: number): void;
}

export interface SpawnContext {
  readonly clock: Clock;
  readonly pipes: PipePool;
  /** Finds the tools for mounts; a text says why there are none. */
  readonly namespaceTools: () => Promise<NamespaceTools | string>;
  readonly mountPoints: MountPoints;
  readonly guard?: GroupGuard;
}

/** A child that was spawned. */
export interface TaskProcess {
  readonly pid: number;
  readonly startedAt: Instant;
  /** Never rejects. Resolves once the process has ended, its group is killed and all its output has been written. */
  readonly ended: Promise<TaskOutcome>;
  /**
   * Sends a signal to all processes of the task. Nothing happens once its first process has ended: the number may be somebody
   * else's by then, while its output is still being written or its end noted.
   */
  signal(signal: NodeJS.Signals): void;
}

/** How long after a process's end its output is waited for, when something that left its group keeps the pipe open. */
const outputGraceMs: Millis = 1_000;

/** A program's name can be as long as the caller likes; what is told of it is kept, and sent around. */
const longestMessage = 1_024;

/**
 * Spawns a task as leader of a session and process group of its own. An outcome instead of a process: it could not start, and
 * nothing of it is left. Rejects when this machine has no pipe for it. stdin is /dev/null; descriptors of ours are not passed on.
 */
export async function spawnTask(task: Task, context: SpawnContext): Promise<TaskProcess | TaskOutcome> {
  const prepared = await prepareTask(task, context);
  if (typeof prepared === "string") return notStarted(task, 128, prepared, context.clock.now());
  const { mounts = [] } = task;
  if (mounts.length === 0) return spawnPrepared(prepared, task, context);
  const release = () => context.mountPoints.release(mounts);
  try {
    const spawned = await spawnPrepared(prepared, task, context);
    if ("ended" in spawned) return { ...spawned, ended: afterwards(spawned.ended, release) };
    await release();
    return spawned;
  } catch (thrown) {
    await release();
    throw thrown;
  }
}

/** What has ended is told when nothing is left of it. */
async function afterwards(ended: Promise<TaskOutcome>, release: () => Promise<void>): Promise<TaskOutcome> {
  const outcome = await ended;
  await release();
  return outcome;
}

async function spawnPrepared(
  prepared: HostCommand,
  task: Task,
  context: SpawnContext,
): Promise<TaskProcess | TaskOutcome> {
  const { clock, guard } = context;
  const [stdout, stderr] = await acquireTwo(context.pipes);
  const startedAt = clock.now();
  const child = spawnChild(prepared, task, stdout, stderr);
  closeWritingEnd(stdout);
  closeWritingEnd(stderr);
  if (child instanceof Error || child.pid === undefined) {
    const failure = child instanceof Error ? child : await failureOf(child);
    for (const pipe of [stdout, stderr]) pipe.release(true);
    return notStarted(task, codeOf(failure) === "ENOENT" ? 127 : 126, await explainFailure(failure, task), clock.now());
  }
  const { pid } = child;
  guard?.add(pid);
  let hasExited = false;
  child.once("exit", () => (hasExited = true));
  const ended = outcomeOf(child, task, [stdout, stderr], startedAt, context);
  return { pid, startedAt, ended, signal: (signal) => void (hasExited || signalGroup(pid, signal)) };
}

/** One of them alone would stay open for ever. */
async function acquireTwo(pipes: PipePool): Promise<readonly [Pipe, Pipe]> {
  const first = await pipes.acquire();
  try {
    return [first, await pipes.acquire()];
  } catch (thrown) {
    closeWritingEnd(first);
    first.release(true);
    throw thrown;
  }
}

/**
 * No program can be given a zero byte. Node's own refusal quotes the text around it, which may be a secret, and what is said of
 * a task is written down.
 */
function zeroByteIn({ command, env, workingDirectory }: Task): string | undefined {
  const place = command.findIndex((text) => text.includes("\0"));
  if (place >= 0) return `${place === 0 ? "the program's name" : `argument ${place}`} holds a zero byte`;
  const variable = Object.entries(env).find(([name, value]) => name.includes("\0") || value.includes("\0"));
  if (variable !== undefined) return `variable ${variable[0].replaceAll("\0", "?")} holds a zero byte`;
  return workingDirectory.includes("\0") ? "the working directory holds a zero byte" : undefined;
}

/** What to spawn, or why that cannot be. Where the task has mounts their places are held from then on, to be released. */
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

function spawnChild(command: HostCommand, task: Task, stdout: Pipe, stderr: Pipe): ChildProcess | Error {
  try {
    return spawn(command.program, command.args, {
      cwd: command.cwd,
      env: { ...task.env },
      detached: true,
      stdio: ["ignore", stdout.descriptor, stderr.descriptor, ...(command.reportsOn3 ? (["pipe"] as const) : [])],
      ...command.user,
    });
  } catch (thrown) {
    // Node throws for some failures (no descriptors left) and emits others.
    return thrown instanceof Error ? thrown : new Error(String(thrown));
  }
}

export const failureOf = (child: ChildProcess): Promise<Error> =>
  new Promise((resolve) => child.once("error", resolve));

// The kernel says ENOENT for a missing program, a missing interpreter and a missing working directory alike.
export async function explainFailure(failure: Error, task: Task): Promise<string> {
  const directory = await stat(task.workingDirectory).catch(() => undefined);
  if (directory === undefined) return `working directory ${task.workingDirectory} does not exist`;
  if (!directory.isDirectory()) return `working directory ${task.workingDirectory} is not a directory`;
  if (codeOf(failure) === "ENOENT") return `program ${task.command[0]} was not found`;
  if (codeOf(failure) === "EACCES") return `program ${task.command[0]} may not be executed`;
  return `program ${task.command[0]} cannot be started: ${failure.message}`;
}

/** Names and paths are expanded texts: what is said of them goes without the masked values, before it is cut. */
function notStarted(task: Task, code: number, reason: string, finishedAt: Instant): TaskOutcome {
  const shown = withoutMasked(task, reason);
  const message = shown.length > longestMessage ? `${shown.slice(0, longestMessage)}…` : shown;
  return { kind: "not-started", code, message, finishedAt };
}

async function outcomeOf(
  child: ChildProcess,
  task: Task,
  pipes: readonly [Pipe, Pipe],
  startedAt: Instant,
  { clock, guard }: SpawnContext,
): Promise<TaskOutcome> {
  const values = maskedValues(task.maskedVariables ?? [], task.env);
  const log = new LogWriter(task.logPath, {
    clock,
    ...(task.logRotation === undefined ? {} : { rotation: task.logRotation }),
    masked: values,
    onDrain: () => pipes.forEach((pipe) => pipe.output.resume()),
  });
  const outputs = [collect(pipes, pipes[0], "stdout", log), collect(pipes, pipes[1], "stderr", log)];
  const report = reportOf(child);
  const [code, signal] = await exitOf(child);
  const finishedAt = clock.now();
  // As in a container: what the first process leaves behind ends with it. While one of them lives, the kernel gives the group's
  // number to nobody; when none does, nobody can have got it and made a group of it within the same turn.
  if (child.pid !== undefined) {
    signalGroup(child.pid, "SIGKILL");
    guard?.remove(child.pid);
  }
  const late = lateness(pipes, clock);
  const ended = await Promise.all(outputs.map((output) => Promise.race([output, late.reached.then(() => false)])));
  late.cancel();
  pipes.forEach((pipe, index) => pipe.release(ended[index] === true));
  await log.close();
  const unsaid = task.message === undefined ? undefined : await maskLastWord(task.message, values);
  const message = await report;
  if (message !== "" && code === 125) return notStarted(task, 128, message, finishedAt);
  return {
    kind: "exited",
    code: exitCode(code, signal),
    ...(signal === null ? {} : { signal }),
    startedAt,
    finishedAt,
    ...noteOf(log.failure, unsaid),
  };
}

function noteOf(failure: Error | undefined, unsaid: string | undefined): { readonly note?: string } {
  const notes = [failure === undefined ? [] : `output is incomplete: ${failure.message}`, unsaid ?? []].flat();
  return notes.length === 0 ? {} : { note: notes.join("; ") };
}

/** Waits for the end of output; not longer than its grace, unless it is the log that keeps the pipes waiting. */
function lateness(pipes: readonly Pipe[], clock: Clock): { readonly reached: Promise<void>; readonly cancel: Cancel } {
  const reached = deferred<void>();
  let cancel: Cancel = () => undefined;
  const wait = () => {
    // Of this process, which reads them: what is in the pipes when it goes on is output of the task.
    cancel = afterAwake(clock, outputGraceMs, () =>
      pipes.some((pipe) => pipe.output.isPaused()) ? wait() : reached.resolve(),
    );
  };
  wait();
  return { reached: reached.promise, cancel: () => cancel() };
}

const exitOf = (child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> =>
  new Promise((resolve) => child.once("exit", (code, signal) => resolve([code, signal])));

/** As a shell says it: 128 + the number of the signal that ended it. */
export const exitCode = (code: number | null, signal: NodeJS.Signals | null): number =>
  code ?? 128 + (signal === null ? 0 : constants.signals[signal]);

/** Resolves true at the end of a pipe. When the log falls behind, both pipes wait, and the child with them. */
function collect(pipes: readonly Pipe[], pipe: Pipe, stream: LogStream, log: LogWriter): Promise<boolean> {
  return new Promise((resolve) => {
    pipe.output.on("data", (chunk: Buffer) => {
      if (!log.append(stream, chunk)) for (const each of pipes) each.output.pause();
    });
    pipe.output.once("end", () => resolve(true));
    pipe.output.once("error", () => resolve(false));
  });
}

const longestReport = 4_096;

/** What the preparation script wrote to descriptor 3: empty when the command was reached. */
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
