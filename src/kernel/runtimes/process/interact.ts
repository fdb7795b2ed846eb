import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { PassThrough, Readable } from "node:stream";
import { signalGroup } from "#lib/base/index.node.ts";
import { afterAwake, type Cancel, type Clock, type Millis } from "#lib/base/index.ts";
import type { Task } from "../contract.ts";
import type { Interaction, InteractionOptions } from "../interaction.ts";
import type { HostCommand } from "./runner/host-command.ts";
import { closeWritingEnd, type InputPipe, type Pipe } from "./runner/pipe-pool.ts";
import { commandOf, onTerminal, resizeTerminal } from "./terminal.ts";
import { exitCode, failureCode, type SpawnContext } from "./runner/follow-task.ts";
import { explainFailure, failureOf, prepareTask } from "./runner/task-process.ts";

/** How long output is read after a command's end if something outside its group keeps the pipe open. */
const outputGraceMs: Millis = 1_000;

interface Streams {
  readonly stdin: InputPipe | undefined;
  readonly stdout: Pipe;
  readonly stderr: Pipe;
}

/**
 * Spawns a command as leader of its own session and process group; it ends with this process. Its streams are pipes,
 * which scripts can reopen as `/dev/stdin` and so on. A command that cannot run has ended with 126, 127 or 128; rejects
 * if this machine has no pipe for it.
 */
export async function interactInProcess(
  given: Task,
  options: InteractionOptions,
  context: SpawnContext,
): Promise<Interaction> {
  const command = options.terminal ? await onTerminal(given.command) : given.command;
  if (typeof command === "string") return notRun(126, command, options);
  const task = { ...given, command };
  const prepared = await prepareTask(task, context);
  if (typeof prepared === "string") return notRun(128, prepared, options);
  const { mounts = [] } = task;
  const release = async () => (mounts.length === 0 ? undefined : context.mountPoints.release(mounts));
  try {
    const streams = await openStreams(options, context);
    const child = spawnChild(prepared, task, streams);
    closeOurCopies(streams);
    if (!(child instanceof Error) && child.pid !== undefined) {
      const plain = interaction(child, child.pid, streams, release, context);
      return options.terminal ? withTerminal(plain, child.pid, context.clock) : plain;
    }
    const failure = child instanceof Error ? child : await failureOf(child);
    closeStreams(streams);
    await release();
    return notRun(failureCode(failure), await explainFailure(failure, task), options);
  } catch (thrown) {
    await release();
    throw thrown;
  }
}

/** As a shell shows it. */
function notRun(code: number, message: string, { terminal }: InteractionOptions): Interaction {
  const [nothing, said] = [Readable.from([]), Readable.from([Buffer.from(`${message}\n`)])];
  return {
    ...(terminal ? { stdout: said } : { stdout: nothing, stderr: said }),
    ended: Promise.resolve(code),
    resize: () => undefined,
    kill: () => undefined,
  };
}

async function openStreams(options: InteractionOptions, { pipes }: SpawnContext): Promise<Streams> {
  const opened: Pipe[] = [];
  try {
    for (let count = 0; count < 2; count++) opened.push(await pipes.acquire());
    const [stdout, stderr] = opened as [Pipe, Pipe];
    return { stdin: options.stdin ? await pipes.acquireInput() : undefined, stdout, stderr };
  } catch (thrown) {
    for (const pipe of opened) {
      closeWritingEnd(pipe);
      pipe.release(true);
    }
    throw thrown;
  }
}

/** After the spawn. */
function closeOurCopies({ stdin, stdout, stderr }: Streams): void {
  closeWritingEnd(stdout);
  closeWritingEnd(stderr);
  if (stdin !== undefined) closeSync(stdin.descriptor);
}

function closeStreams({ stdin, stdout, stderr }: Streams): void {
  stdin?.input.destroy();
  stdout.release(true);
  stderr.release(true);
}

function spawnChild(command: HostCommand, task: Task, { stdin, stdout, stderr }: Streams): ChildProcess | Error {
  try {
    return spawn(command.program, command.args, {
      cwd: command.cwd,
      env: { ...task.env },
      detached: true,
      stdio: [
        stdin?.descriptor ?? "ignore",
        stdout.descriptor,
        stderr.descriptor,
        // Failures of preparing mounts appear on stderr.
        ...(command.reportsOn3 ? [stderr.descriptor] : []),
      ],
      ...command.user,
    });
  } catch (thrown) {
    // Node throws some failures (no descriptors left) and emits others.
    return thrown instanceof Error ? thrown : new Error(String(thrown));
  }
}

function interaction(
  child: ChildProcess,
  pid: number,
  streams: Streams,
  release: () => Promise<void>,
  { clock, guard }: SpawnContext,
): Interaction {
  guard?.add(pid);
  let hasExited = false;
  const exited = new Promise<number>((resolve) =>
    child.once("exit", (code, signal) => {
      hasExited = true;
      // As at the end of a task, processes left behind end too.
      signalGroup(pid, "SIGKILL");
      guard?.remove(pid);
      streams.stdin?.input.destroy();
      resolve(exitCode(code, signal));
    }),
  );
  const stdout = outputOf(streams.stdout, exited, clock);
  const stderr = outputOf(streams.stderr, exited, clock);
  // The command may not read its input.
  streams.stdin?.input.on("error", () => undefined);
  return {
    ...(streams.stdin === undefined ? {} : { stdin: streams.stdin.input }),
    stdout,
    stderr,
    ended: exited.then(async (code) => {
      await release();
      return code;
    }),
    resize: () => undefined,
    kill: () => {
      if (!hasExited) signalGroup(pid, "SIGKILL");
    },
  };
}

/** The group's leader is the program that holds the terminal; the command is its child. */
function withTerminal(holder: Interaction, pid: number, clock: Clock): Interaction {
  const { stdin, stdout, stderr, ended } = holder;
  const over = new AbortController();
  const end = () => over.abort();
  ended.then(end, end);
  // Messages of the program itself.
  stderr?.on("error", end).resume();
  return {
    ...(stdin === undefined ? {} : { stdin }),
    stdout,
    ended,
    resize: (size) => void resizeTerminal(pid, size, clock, over.signal),
    // Commands that survive the end of their terminal are in the command's own group.
    kill: () => {
      void commandOf(pid).then((command) => {
        if (command !== undefined && !over.signal.aborted) signalGroup(command, "SIGKILL");
        holder.kill();
      });
    },
  };
}

/** Ends soon after the process, unless its reader is slow. */
function outputOf(pipe: Pipe, exited: Promise<unknown>, clock: Clock): Readable {
  const { output } = pipe;
  const shown = new PassThrough();
  let cancel: Cancel = () => undefined;
  shown.once("close", () => {
    cancel();
    pipe.release(output.readableEnded);
  });
  output.once("error", () => shown.end());
  output.pipe(shown);
  const cutLate = () => {
    if (shown.destroyed || output.readableEnded) return;
    cancel = afterAwake(clock, outputGraceMs, () => {
      if (output.isPaused()) return cutLate();
      output.unpipe(shown);
      shown.end();
    });
  };
  void exited.then(cutLate);
  return shown;
}
