import { constants } from "node:os";
import { afterAwake, type Cancel, type Clock, codeOf, deferred, type Instant, type Millis } from "#lib/base/index.ts";
import { isAlive, type ProcessIdentity, signalGroup } from "#lib/base/index.node.ts";
import { type LogStream, LogWriter, withoutValues } from "#kernel/logs/index.ts";
import type { TaskOutcome } from "../../contract.ts";
import { maskLastWord } from "../../last-word.ts";
import type { NamespaceTools } from "./host-command.ts";
import type { Handover } from "./journal.ts";
import type { MountPoints } from "./mount-points.ts";
import type { PipePool, ReadingPipe } from "./pipe-pool.ts";
import type { Exit } from "./supervisor.ts";

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
  /** Of the system's supervisor program; a task without one is a child of this process. */
  readonly supervisor?: Promise<string | undefined>;
}

/** A child that was spawned. */
export interface Begun {
  /** Of the process group's leader: the supervisor, or the program where there is none. */
  readonly pid: number;
  readonly startedAt: Instant;
  /** Present where a successor of this process can go on with the task. */
  readonly handover?: Handover;
}

/** A task that runs. */
export interface TaskProcess extends Begun {
  /** Never rejects. Resolves once the process has ended, its group is killed and all its output has been written. */
  readonly ended: Promise<TaskOutcome>;
  /**
   * Sends a signal to all processes of the task. Nothing happens once its first process has ended: the number may be somebody
   * else's by then, while its output is still being written or its end noted.
   */
  signal(signal: NodeJS.Signals): void;
}

/** Writes down what was spawned. A supervised program begins when it resolves; it never rejects. */
export type NoteBegun = (begun: Begun) => Promise<void>;

/** How long after a process's end its output is waited for, when something that left its group keeps the pipe open. */
const outputGraceMs: Millis = 1_000;

/** A program's name can be as long as the caller likes; what is told of it is kept, and sent around. */
const longestMessage = 1_024;

/** What has ended is told when nothing is left of it. */
export async function afterwards(ended: Promise<TaskOutcome>, release: () => Promise<void>): Promise<TaskOutcome> {
  const outcome = await ended;
  await release();
  return outcome;
}

/** Names and paths are expanded texts: what is said of them goes without the masked values, before it is cut. */
export function notStarted(values: readonly string[], code: number, reason: string, finishedAt: Instant): TaskOutcome {
  const shown = withoutValues(reason, values);
  const message = shown.length > longestMessage ? `${shown.slice(0, longestMessage)}…` : shown;
  return { kind: "not-started", code, message, finishedAt };
}

/** What is known of a task besides its process. */
interface Facts extends Pick<Handover, "logPath" | "logRotation" | "message"> {
  /** Of the masked variables. */
  readonly values: readonly string[];
}

/** A task's first process and what comes from it. */
interface Running {
  readonly pid: number;
  readonly startedAt: Instant;
  readonly outputs: readonly [ReadingPipe, ReadingPipe];
  readonly exited: Promise<Exit>;
  /** What the preparation had to say; empty when the command was reached. */
  readonly report?: Promise<string>;
  /** Of a process that is no child of ours: its pid may be given to another one before we hear of its end. */
  readonly identity?: ProcessIdentity;
}

/** Takes output and exit of a process that has been spawned. */
export function followTask(running: Running, facts: Facts, context: SpawnContext): TaskProcess {
  const { pid, startedAt, exited, identity } = running;
  let hasExited = false;
  void exited.then(() => (hasExited = true));
  return {
    pid,
    startedAt,
    ended: outcomeOf(running, facts, context),
    signal: (signal) => {
      if (!hasExited && (identity === undefined || isAlive(identity))) signalGroup(pid, signal);
    },
  };
}

async function outcomeOf(
  { pid, startedAt, outputs: pipes, exited, report }: Running,
  { logPath, logRotation, message, values }: Facts,
  { clock, guard }: SpawnContext,
): Promise<TaskOutcome> {
  const log = new LogWriter(logPath, {
    clock,
    ...(logRotation === undefined ? {} : { rotation: logRotation }),
    masked: values,
    onDrain: () => pipes.forEach((pipe) => pipe.output.resume()),
  });
  const outputs = [collect(pipes, pipes[0], "stdout", log), collect(pipes, pipes[1], "stderr", log)];
  const { code, signal } = await exited;
  const finishedAt = clock.now();
  // As in a container: what the first process leaves behind ends with it. While one of them lives, the kernel gives the group's
  // number to nobody; when none does, nobody can have got it and made a group of it within the same turn.
  signalGroup(pid, "SIGKILL");
  guard?.remove(pid);
  const late = lateness(pipes, clock);
  const ended = await Promise.all(outputs.map((output) => Promise.race([output, late.reached.then(() => false)])));
  late.cancel();
  pipes.forEach((pipe, index) => pipe.release(ended[index] === true));
  await log.close();
  const unsaid = message === undefined ? undefined : await maskLastWord(message, values);
  const said = (await report) ?? "";
  if (said !== "" && code === 125) return notStarted(values, 128, said, finishedAt);
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
function lateness(
  pipes: readonly ReadingPipe[],
  clock: Clock,
): { readonly reached: Promise<void>; readonly cancel: Cancel } {
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

/** As a shell says it: not found, or not executable. */
export const failureCode = (failure: Error): number => (codeOf(failure) === "ENOENT" ? 127 : 126);

/** As a shell says it: 128 + the number of the signal that ended it. */
export const exitCode = (code: number | null, signal: NodeJS.Signals | null): number =>
  code ?? 128 + (signal === null ? 0 : constants.signals[signal]);

/** Resolves true at the end of a pipe. When the log falls behind, both pipes wait, and the child with them. */
function collect(
  pipes: readonly ReadingPipe[],
  pipe: ReadingPipe,
  stream: LogStream,
  log: LogWriter,
): Promise<boolean> {
  return new Promise((resolve) => {
    pipe.output.on("data", (chunk: Buffer) => {
      if (!log.append(stream, chunk)) for (const each of pipes) each.output.pause();
    });
    pipe.output.once("end", () => resolve(true));
    pipe.output.once("error", () => resolve(false));
  });
}
