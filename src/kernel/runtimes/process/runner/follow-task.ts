import { constants } from "node:os";
import { afterAwake, type Cancel, type Clock, codeOf, deferred, type Instant, type Millis } from "#lib/base/index.ts";
import { isAlive, type ProcessIdentity, signalGroup } from "#lib/base/index.node.ts";
import { type LogStream, LogWriter, withoutValues } from "#kernel/streams/index.ts";
import type { TaskOutcome } from "../../contract.ts";
import { maskLastWord } from "../../last-word.ts";
import type { NamespaceTools } from "./host-command.ts";
import type { Handover } from "./journal.ts";
import type { MountPoints } from "./mount-points.ts";
import type { PipePool, ReadingPipe } from "./pipe-pool.ts";
import type { Exit } from "./supervisor.ts";

/** Is told which process groups live, to kill them if this process ends first. */
export interface GroupGuard {
  /** Called in the turn of the spawn. */
  add(leader: number): void;
  /** Called when the leader has ended and its group was killed. */
  remove(leader: number): void;
}

export interface SpawnContext {
  readonly clock: Clock;
  readonly pipes: PipePool;
  readonly namespaceTools: () => Promise<NamespaceTools | string>;
  readonly mountPoints: MountPoints;
  readonly guard?: GroupGuard;
  /** Path of the supervisor program; without one, a task is a child of this process. */
  readonly supervisor?: Promise<string | undefined>;
}

export interface Begun {
  /** The group's leader: the supervisor, or the program without one. */
  readonly pid: number;
  readonly startedAt: Instant;
  /** Present if the next runner can continue the task. */
  readonly handover?: Handover;
}

export interface TaskProcess extends Begun {
  /** Never rejects. Resolves once the process has ended, its group is killed and its output is written. */
  readonly ended: Promise<TaskOutcome>;
  /** Signals all processes of the task. Does nothing after its first process ended: the number may have been reused. */
  signal(signal: NodeJS.Signals): void;
}

/** Records the spawn; never rejects. A supervised program begins when it resolves. */
export type NoteBegun = (begun: Begun) => Promise<void>;

/** How long output is read after the process ended if something outside its group keeps the pipe open. */
const outputGraceMs: Millis = 1_000;

/** Messages are stored and sent, and a program's name can be of any length. */
const longestMessage = 1_024;

export async function afterwards<T>(ended: Promise<T>, release: () => Promise<void>): Promise<T> {
  const outcome = await ended;
  await release();
  return outcome;
}

/** Values are masked before the message is cut. */
export function notStarted(values: readonly string[], code: number, reason: string, finishedAt: Instant): TaskOutcome {
  const shown = withoutValues(reason, values);
  const message = shown.length > longestMessage ? `${shown.slice(0, longestMessage)}…` : shown;
  return { kind: "not-started", code, message, finishedAt };
}

interface Facts extends Pick<Handover, "logPath" | "logRotation" | "message"> {
  /** Of the masked variables. */
  readonly values: readonly string[];
}

interface Running {
  readonly pid: number;
  readonly startedAt: Instant;
  readonly outputs: readonly [ReadingPipe, ReadingPipe];
  readonly exited: Promise<Exit>;
  /** Why the preparation failed; empty if the command was reached. */
  readonly report?: Promise<string>;
  /** For a process that is not our child: its pid may be reused before we learn of its end. */
  readonly identity?: ProcessIdentity;
}

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
  // As in a container, processes that the first one leaves behind are killed. The group's number cannot have been
  // reused within this turn.
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

/** Waits for the grace to end, and for the log if it holds up the pipes. */
function lateness(
  pipes: readonly ReadingPipe[],
  clock: Clock,
): { readonly reached: Promise<void>; readonly cancel: Cancel } {
  const reached = deferred<void>();
  let cancel: Cancel = () => undefined;
  const wait = () => {
    // Output that is in the pipes when this process resumes belongs to the task.
    cancel = afterAwake(clock, outputGraceMs, () =>
      pipes.some((pipe) => pipe.output.isPaused()) ? wait() : reached.resolve(),
    );
  };
  wait();
  return { reached: reached.promise, cancel: () => cancel() };
}

/** The shell's codes for "not found" and "not executable". */
export const failureCode = (failure: Error): number => (codeOf(failure) === "ENOENT" ? 127 : 126);

/** As in a shell: 128 + the number of the signal. */
export const exitCode = (code: number | null, signal: NodeJS.Signals | null): number =>
  code ?? 128 + (signal === null ? 0 : constants.signals[signal]);

/** Resolves true at the end of the pipe. If the log falls behind, both pipes wait, and the child with them. */
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
