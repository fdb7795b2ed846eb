import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { signalGroup } from "#lib/base/index.node.ts";
import { closeWritingEnd, type Pipe } from "#kernel/runtimes/index.ts";
import { afterAwake, type Clock, codeOf, deferred, type Millis, toError } from "#lib/base/index.ts";
import type { StepEnd, StepJob } from "../step-runtime.ts";
import { markVariable, signalMarked } from "./marked-processes.ts";

/** What is to be run, and where. */
export interface StepCommand {
  readonly argv: readonly string[];
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A step that runs: one process group, whose first process was started here. */
export interface StepProcess {
  readonly pid: number;
  /** Never rejects. Resolves when nothing of the step is left, as far as it can be found, and its output was taken. */
  readonly ended: Promise<StepEnd>;
  /** SIGTERM to all of it, what has left the group too, and SIGKILL to what is left after the grace. What ends meanwhile has been cancelled. */
  end(graceMs: Millis): void;
  /** SIGKILL to its group, in this turn; what has left the group is killed when the first process is gone. */
  kill(): void;
}

/** What is around a process of a step. */
export interface ProcessSurroundings {
  readonly log: StepJob["log"];
  readonly clock: Clock;
  /** First processes of all steps that run here, kept up to date by each. */
  readonly leaders: Set<number>;
}

/** How long output is waited for when something that has left the group keeps the pipe open. */
const outputGraceMs: Millis = 1_000;

/**
 * Starts a program as the leader of a session and a process group of its own, with nothing to read and one pipe for everything it prints: two pipes
 * would lose the order in which a shell's trace and its programs have written. The pipe is taken over. An end instead of a process: it could not
 * be started.
 */
export async function startProcess(
  command: StepCommand,
  pipe: Pipe,
  { log, clock, leaders }: ProcessSurroundings,
): Promise<StepProcess | StepEnd> {
  const [program = "", ...args] = command.argv;
  const child = spawnChild(program, args, command, pipe);
  closeWritingEnd(pipe);
  if (child instanceof Error || child.pid === undefined) {
    pipe.release(true);
    return notStarted(program, child instanceof Error ? child : await failureOf(child));
  }
  const { pid } = child;
  leaders.add(pid);
  const since = clock.monotonic();
  const signalStrays = (signal: "SIGTERM" | "SIGKILL"): void => {
    const mark = command.env[markVariable];
    if (mark !== undefined)
      signalMarked({ mark, firstPid: pid, age: clock.monotonic() - since, others: leaders }, signal);
  };
  let state: "runs" | "ends" | "gone" = "runs";
  const output = take(pipe, log);
  const exited = exitOf(child);
  const killed = deferred<void>();
  const kill = (): void => {
    // When nobody of the group is left its number may be somebody else's.
    if (state !== "gone") signalGroup(pid, "SIGKILL");
    killed.resolve();
  };
  const ended = async (): Promise<StepEnd> => {
    const [code, signal] = await exited;
    leaders.delete(pid);
    const isCancelled = state === "ends";
    // Who was asked to end politely has its time, also when the shell that had started it did not wait; the end of output tells that all
    // have ended. What a step leaves behind that has ended by itself ends with it, as in a container.
    if (isCancelled) await Promise.race([output, killed.promise]);
    signalGroup(pid, "SIGKILL");
    state = "gone";
    signalStrays("SIGKILL");
    const isWhole = await Promise.race([output, lateness(pipe, clock)]);
    pipe.release(isWhole);
    return endOf(code, signal, isCancelled);
  };
  return {
    pid,
    ended: ended(),
    end(graceMs) {
      if (state !== "runs") return;
      state = "ends";
      signalGroup(pid, "SIGTERM");
      signalStrays("SIGTERM");
      // It has its time to say its last words, which are read here.
      const cancel = afterAwake(clock, graceMs, kill);
      // The end of output alone tells nothing: who has closed it runs on.
      void Promise.all([exited, output]).then(cancel);
    },
    kill,
  };
}

/** Node throws for some failures, such as no descriptors being left, and emits others. */
function spawnChild(program: string, args: readonly string[], command: StepCommand, pipe: Pipe): ChildProcess | Error {
  const { directory: cwd, env } = command;
  try {
    return spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", pipe.descriptor, pipe.descriptor] });
  } catch (thrown) {
    return toError(thrown);
  }
}

/** Node tells later why there is no process. */
const failureOf = (child: ChildProcess): Promise<Error> => new Promise((resolve) => child.once("error", resolve));

/** The end of the first process; others of the group may live on. */
const exitOf = (child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> =>
  new Promise((resolve) => child.once("exit", (code, signal) => resolve([code, signal])));

/** The codes are those that a shell has for it. */
function notStarted(program: string, failure: Error): StepEnd {
  if (codeOf(failure) === "ENOENT")
    return { status: "Failed", exitCode: 127, reason: "NotFound", message: `program ${program} was not found` };
  const message = `program ${program} cannot be started: ${failure.message}`;
  return { status: "Failed", exitCode: 126, reason: "NotExecutable", message };
}

/** Hands output to the log; true at its end. When the log falls behind the pipe waits, and with it the program. */
function take({ output }: Pipe, log: StepJob["log"]): Promise<boolean> {
  return new Promise((resolve) => {
    output.on("data", (chunk: Buffer) => {
      if (log.append("stdout", chunk)) return;
      output.pause();
      void log.drained().then(() => output.resume());
    });
    output.once("end", () => resolve(true));
    output.once("error", () => resolve(false));
  });
}

/** False after a while in which the log did not keep the pipe waiting, and in which it could have been read. */
function lateness(pipe: Pipe, clock: Clock): Promise<false> {
  return new Promise((resolve) => {
    const wait = (): void =>
      void afterAwake(clock, outputGraceMs, () => (pipe.output.isPaused() ? wait() : resolve(false)));
    wait();
  });
}

/** Shells say 127 and 126 of a command that they did not find, or could not run; nobody else can say it of their commands. */
const shellReasons: Readonly<Record<number, { readonly reason: string; readonly message: string }>> = {
  126: { reason: "NotExecutable", message: "exit code 126: a command cannot be executed" },
  127: { reason: "NotFound", message: "exit code 127: a command was not found" },
};

/** A program that was killed has the code that shells give it: 128 and the number of the signal. */
function endOf(code: number | null, signal: NodeJS.Signals | null, isCancelled: boolean): StepEnd {
  const exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  if (isCancelled) return { status: "Cancelled", exitCode };
  if (exitCode === 0) return { status: "Success", exitCode };
  if (signal !== null) return { status: "Failed", exitCode, reason: "Signal", message: `killed by ${signal}` };
  const { reason, message } = shellReasons[exitCode] ?? { reason: "ExitCode", message: `exit code ${exitCode}` };
  return { status: "Failed", exitCode, reason, message };
}
