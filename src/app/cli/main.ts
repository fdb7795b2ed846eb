import { setMaxListeners } from "node:events";
import { codeOf, holdProcess, systemClock } from "#lib/base/index.ts";
import { type EndSignal, Exit, type OwnProcess, readEnvironment } from "#kernel/command/index.ts";
import { commands } from "./commands/index.ts";
import { execute } from "./execute.ts";
import { host } from "./host.ts";
import { version } from "./version.ts";

const stopped = new AbortController();
/** 128 plus the number of the signal, as shells have it. */
const codes: Readonly<Record<EndSignal, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };
let isSignalled = false;
/** Who is told of signals instead. */
let owner: ((signal: EndSignal) => void) | undefined;
/** A server goes on without its outputs. */
let outlivesOutputs = false;

/** The first signal asks everything to end; the second ends this process at once. */
function onSignal(signal: EndSignal): void {
  if (owner !== undefined) return owner(signal);
  // A terminal that is closed may send its signal twice: by itself, and by the shell.
  if (isSignalled && signal === "SIGHUP") return;
  process.exitCode = codes[signal];
  if (isSignalled) process.exit();
  isSignalled = true;
  stopped.abort(new Exit(process.exitCode));
}

/**
 * A reader such as `head` that went away ends us quietly and as SIGPIPE would, as does a terminal that was closed (EIO); a run that we carry is
 * canceled first. A server, and a command that owns the process, go on whatever the error is.
 */
function onLostOutput(error: Error): void {
  if (owner !== undefined || outlivesOutputs) return;
  if (codeOf(error) !== "EPIPE" && codeOf(error) !== "EIO") throw error;
  // The signal that came with it, if any, has set the code.
  process.exitCode ??= 141;
  stopped.abort(new Exit(141));
}

/**
 * What this process is to a command that carries something itself: a build has steps to end politely, and decides which signal ends what and with
 * which code. Nothing of that is asked for by commands that only talk to a server.
 */
const ownProcess: OwnProcess = {
  takeOver(told, abandon) {
    owner = told;
    // Told, and not handled: a fault of ours ends the process as it always does, after what it carries.
    process.on("uncaughtExceptionMonitor", abandon);
  },
  outliveOutputs() {
    outlivesOutputs = true;
  },
  exit: (code) => process.exit(code),
};

async function main(): Promise<void> {
  for (const signal of Object.keys(codes) as EndSignal[]) process.on(signal, () => onSignal(signal));
  process.stdout.on("error", onLostOutput);
  process.stderr.on("error", onLostOutput);
  // Every run of a command listens, and there may be any number.
  setMaxListeners(0, stopped.signal);
  // A command is over when its promise is, not when nothing but timers that hold nobody back is left.
  const release = holdProcess();
  const code = await execute(process.argv.slice(2), commands, version, {
    environment: readEnvironment,
    clock: systemClock,
    signal: stopped.signal,
    process: ownProcess,
    connect: async (options, environment) =>
      await (await import("./connect.ts")).connectRunning(options, environment, systemClock, stopped.signal),
    host,
  });
  // A signal that came meanwhile has the last word.
  process.exitCode ??= code;
  release();
  // Idle sockets and timers of libraries must not hold a command that has said all it had to say.
  process.stdout.write("", () => process.exit());
}

void main();
