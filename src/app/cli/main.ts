import { setMaxListeners } from "node:events";
import { codeOf, holdProcess, systemClock } from "#lib/base/index.ts";
import { type EndSignal, Exit, type OwnProcess, readEnvironment } from "#kernel/command/index.ts";
import { commands } from "./commands/index.ts";
import { execute } from "./execute.ts";
import { host } from "./host.ts";
import { version } from "./version.ts";

const stopped = new AbortController();
/** 128 plus the number of the signal, as in shells. */
const codes: Readonly<Record<EndSignal, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };
let isSignalled = false;
/** Receives the signals instead. */
let owner: ((signal: EndSignal) => void) | undefined;
let outlivesOutputs = false;

/** The first signal aborts everything; the second ends this process at once. */
function onSignal(signal: EndSignal): void {
  if (owner !== undefined) return owner(signal);
  // A closed terminal may send its signal twice: itself, and through the shell.
  if (isSignalled && signal === "SIGHUP") return;
  process.exitCode = codes[signal];
  if (isSignalled) process.exit();
  isSignalled = true;
  stopped.abort(new Exit(process.exitCode));
}

/**
 * A lost reader such as `head` (EPIPE), or a closed terminal (EIO), ends the process quietly, as SIGPIPE would; a run
 * is canceled first. Servers and commands that own the process continue.
 */
function onLostOutput(error: Error): void {
  if (owner !== undefined || outlivesOutputs) return;
  if (codeOf(error) !== "EPIPE" && codeOf(error) !== "EIO") throw error;
  // A signal that came with it has set the code.
  process.exitCode ??= 141;
  stopped.abort(new Exit(141));
}

/** For commands that handle signals themselves, such as builds. */
const ownProcess: OwnProcess = {
  takeOver(told, abandon) {
    owner = told;
    // Only observed: a bug still ends the process.
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
  setMaxListeners(0, stopped.signal);
  // A command ends with its promise, even if only unreferenced timers are left.
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
  // The code of a signal takes precedence.
  process.exitCode ??= code;
  release();
  // Idle sockets and timers of libraries must not keep the process alive.
  process.stdout.write("", () => process.exit());
}

void main();
