import { type ChildProcess, execFile } from "node:child_process";
import { closeSync } from "node:fs";
import { PassThrough, Readable } from "node:stream";
import { signalGroup } from "#lib/base/index.node.ts";
import { afterAwake, type Cancel, type Clock, type Millis, shellQuoted, sleep } from "#lib/base/index.ts";
import type { Task } from "../contract.ts";
import type { Interaction, InteractionOptions, TerminalSize } from "../interaction.ts";
import { closeWritingEnd, type InputPipe, type Pipe } from "./runner/pipe-pool.ts";
import { afterwards, exitCode, failureCode, type SpawnContext } from "./runner/follow-task.ts";
import { exitOf, explainFailure, prepareTask, spawnLeader } from "./runner/task-process.ts";
import { readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";
import { findProgram } from "./runner/host-command.ts";

/** How long output is read after the command ended if a process outside its group keeps the pipe open. */
const outputGraceMs: Millis = 1_000;

interface Streams {
  readonly stdin: InputPipe | undefined;
  readonly stdout: Pipe;
  readonly stderr: Pipe;
}

/**
 * Spawns a command as the leader of its own session and process group; the guard kills it when this process ends. Its
 * streams are real pipes, which scripts can reopen as `/dev/stdin` and the like. A command that cannot run ends with
 * 126, 127 or 128. Rejects if no pipe can be opened.
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
  const release = () => context.mountPoints.release(task.mounts ?? []);
  try {
    const streams = await openStreams(options, context);
    const { stdin, stdout, stderr } = streams;
    // A failed preparation of mounts reports where the command would.
    const reports = prepared.reportsOn3 ? [stderr.descriptor] : [];
    const stdio = [stdin?.descriptor ?? "ignore", stdout.descriptor, stderr.descriptor, ...reports] as const;
    const spawned = spawnLeader(prepared, task.env, stdio);
    closeOurCopies(streams);
    if ("pid" in spawned) {
      const { child, pid } = spawned;
      const plain = interaction(child, pid, streams, release, context);
      return options.terminal ? withTerminal(plain, pid, context.clock) : plain;
    }
    const failure = await spawned;
    stdin?.input.destroy();
    for (const pipe of [stdout, stderr]) pipe.release(true);
    await release();
    return notRun(failureCode(failure), await explainFailure(failure, task), options);
  } catch (thrown) {
    await release();
    throw thrown;
  }
}

/** The exit code and message that a shell would give. */
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
  const stdin = options.stdin ? await pipes.acquireInput() : undefined;
  const [stdout, stderr] = (await pipes.acquireAll({}, {}).catch((thrown: unknown) => {
    if (stdin !== undefined) closeSync(stdin.descriptor);
    stdin?.input.destroy();
    throw thrown;
  })) as [Pipe, Pipe];
  return { stdin, stdout, stderr };
}

/** Closes the ends that the child has inherited. */
function closeOurCopies({ stdin, stdout, stderr }: Streams): void {
  closeWritingEnd(stdout);
  closeWritingEnd(stderr);
  if (stdin !== undefined) closeSync(stdin.descriptor);
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
  const exited = exitOf(child).then(({ code, signal }) => {
    hasExited = true;
    // As at the end of a task: processes that the first one leaves behind are killed.
    signalGroup(pid, "SIGKILL");
    guard?.remove(pid);
    streams.stdin?.input.destroy();
    return exitCode(code, signal);
  });
  const stdout = outputOf(streams.stdout, exited, clock);
  const stderr = outputOf(streams.stderr, exited, clock);
  // A command that stops reading is not the writer's failure.
  streams.stdin?.input.on("error", () => undefined);
  return {
    ...(streams.stdin === undefined ? {} : { stdin: streams.stdin.input }),
    stdout,
    stderr,
    ended: afterwards(exited, release),
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
  // That program's own messages are not shown.
  stderr?.on("error", end).resume();
  return {
    ...(stdin === undefined ? {} : { stdin }),
    stdout,
    ended,
    resize: (size) => void resizeTerminal(pid, size, clock, over.signal),
    // The command is in a group of its own and may survive the end of its terminal.
    kill: () => {
      void commandOf(pid).then((command) => {
        if (command !== undefined && !over.signal.aborted) signalGroup(command, "SIGKILL");
        holder.kill();
      });
    },
  };
}

/** The output of a pipe. It ends at most a second after the process, unless the reader is behind. */
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

// Node cannot open terminals. script(1) of util-linux can: it leads the group that we know; its one child, the command,
// has a session of its own on the terminal. stty(1) sets the terminal's size, and the kernel notifies the command.

const run = promisify(execFile);
const lookEvery: Millis = 20;
const mostLooks = 100;

/** Wraps the command to run on a terminal with echo, keeping its exit code; or says why that is impossible. */
async function onTerminal(command: readonly [string, ...string[]]): Promise<readonly [string, ...string[]] | string> {
  const script = await findProgram("script");
  if (script === undefined) return "a terminal needs script(1) of util-linux";
  const line = `exec ${command.map(shellQuoted).join(" ")}`;
  return [script, "--quiet", "--return", "--flush", "--echo", "always", "--command", line, "/dev/null"];
}

/** The command's process, which leads a group of its own; undefined before it starts and after it ended. */
async function commandOf(script: number): Promise<number | undefined> {
  const children = await readFile(`/proc/${script}/task/${script}/children`, "latin1").catch(() => "");
  const pid = Number.parseInt(children, 10);
  return Number.isNaN(pid) ? undefined : pid;
}

/** Sets the size once there is a terminal. Does nothing after an abort or without stty(1). Never rejects. */
async function resizeTerminal(
  script: number,
  { columns, rows }: TerminalSize,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  try {
    const stty = await findProgram("stty");
    if (stty === undefined) return;
    for (let look = 0; look < mostLooks; look++) {
      const pid = await commandOf(script);
      const terminal = pid === undefined ? "" : await readlink(`/proc/${pid}/fd/0`).catch(() => "");
      signal.throwIfAborted();
      if (/^\/dev\/pts\/\d+$/.test(terminal)) {
        await run(stty, ["-F", terminal, "rows", `${rows}`, "cols", `${columns}`], { env: {} });
        return;
      }
      await sleep(clock, lookEvery, signal);
    }
  } catch {
    // It has ended meanwhile.
  }
}
