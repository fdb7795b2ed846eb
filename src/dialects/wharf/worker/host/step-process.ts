import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { signalGroup } from "#lib/base/index.node.ts";
import { closeWritingEnd, type Pipe } from "#kernel/runtimes/index.ts";
import { afterAwake, type Clock, codeOf, deferred, type Millis, toError } from "#lib/base/index.ts";
import type { StepEnd, StepJob } from "../step-runtime.ts";
import { markVariable, signalMarked } from "./marked-processes.ts";

export interface StepCommand {
  readonly argv: readonly string[];
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface StepProcess {
  readonly pid: number;
  /** Resolves, never rejects, when all processes of the step that can be found have ended and the output is read. */
  readonly ended: Promise<StepEnd>;
  /** Sends SIGTERM to all processes, then SIGKILL after the grace period. */
  end(graceMs: Millis): void;
  /** Kills the group synchronously; other processes are killed after the first one has ended. */
  kill(): void;
}

export interface ProcessSurroundings {
  readonly log: StepJob["log"];
  readonly clock: Clock;
  readonly leaders: Set<number>;
}

/** How long to wait for output if a process outside of the group keeps the pipe open. */
const outputGraceMs: Millis = 1_000;

/** Starts a program in its own session and group, without input and with one pipe for all output, which preserves its
 * order. Takes over the pipe. Returns an end if the program cannot be started. */
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
    // The group's id may have been reused.
    if (state !== "gone") signalGroup(pid, "SIGKILL");
    killed.resolve();
  };
  const ended = async (): Promise<StepEnd> => {
    const [code, signal] = await exited;
    leaders.delete(pid);
    const isCancelled = state === "ends";
    // Canceled processes get their grace period even if their shell did not wait; the end of output shows that all
    // have ended. Otherwise leftover processes end with the step, as in a container.
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
      const cancel = afterAwake(clock, graceMs, kill);
      // Output alone is not enough: a process may have closed it.
      void Promise.all([exited, output]).then(cancel);
    },
    kill,
  };
}

/** Node throws for some failures and emits others. */
function spawnChild(program: string, args: readonly string[], command: StepCommand, pipe: Pipe): ChildProcess | Error {
  const { directory: cwd, env } = command;
  try {
    return spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", pipe.descriptor, pipe.descriptor] });
  } catch (thrown) {
    return toError(thrown);
  }
}

const failureOf = (child: ChildProcess): Promise<Error> => new Promise((resolve) => child.once("error", resolve));

const exitOf = (child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> =>
  new Promise((resolve) => child.once("exit", (code, signal) => resolve([code, signal])));

function notStarted(program: string, failure: Error): StepEnd {
  if (codeOf(failure) === "ENOENT")
    return { status: "Failed", exitCode: 127, reason: "NotFound", message: `program ${program} was not found` };
  const message = `program ${program} cannot be started: ${failure.message}`;
  return { status: "Failed", exitCode: 126, reason: "NotExecutable", message };
}

/** Passes output to the log; true at its end. Pauses the pipe, and with it the program, if the log falls behind. */
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

function lateness(pipe: Pipe, clock: Clock): Promise<false> {
  return new Promise((resolve) => {
    const wait = (): void =>
      void afterAwake(clock, outputGraceMs, () => (pipe.output.isPaused() ? wait() : resolve(false)));
    wait();
  });
}

const shellReasons: Readonly<Record<number, { readonly reason: string; readonly message: string }>> = {
  126: { reason: "NotExecutable", message: "exit code 126: a command cannot be executed" },
  127: { reason: "NotFound", message: "exit code 127: a command was not found" },
};

function endOf(code: number | null, signal: NodeJS.Signals | null, isCancelled: boolean): StepEnd {
  const exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  if (isCancelled) return { status: "Cancelled", exitCode };
  if (exitCode === 0) return { status: "Success", exitCode };
  if (signal !== null) return { status: "Failed", exitCode, reason: "Signal", message: `killed by ${signal}` };
  const { reason, message } = shellReasons[exitCode] ?? { reason: "ExitCode", message: `exit code ${exitCode}` };
  return { status: "Failed", exitCode, reason, message };
}
