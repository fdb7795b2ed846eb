import { setMaxListeners } from "node:events";
import { codeOf, holdProcess, systemClock } from "#lib/base/index.ts";
import { commands } from "./commands/index.ts";
import { readEnvironment } from "./environment.ts";
import { execute } from "./execute.ts";
import { Exit } from "./exit-codes.ts";
import { version } from "./version.ts";

const stopped = new AbortController();
let signals = 0;

/**
 * The first signal asks everything to end; the second ends this process at once. 128 plus the number of the signal,
 * as shells have it.
 */
function onSignal(signal: "SIGINT" | "SIGTERM"): void {
  signals += 1;
  process.exitCode = signal === "SIGINT" ? 130 : 143;
  if (signals > 1) process.exit();
  stopped.abort(new Exit(process.exitCode));
}

/** A reader such as `head` that went away ends us quietly and as SIGPIPE would; a run that we carry is canceled first. */
function onBrokenPipe(error: Error): void {
  if (codeOf(error) !== "EPIPE") throw error;
  process.exitCode = 141;
  stopped.abort(new Exit(process.exitCode));
}

async function main(): Promise<void> {
  process.on("SIGINT", () => onSignal("SIGINT"));
  process.on("SIGTERM", () => onSignal("SIGTERM"));
  process.stdout.on("error", onBrokenPipe);
  process.stderr.on("error", onBrokenPipe);
  // Every run of a command listens, and there may be any number.
  setMaxListeners(0, stopped.signal);
  // A command is over when its promise is, not when nothing but timers that hold nobody back is left.
  const release = holdProcess();
  const code = await execute(process.argv.slice(2), commands, version, {
    environment: readEnvironment,
    clock: systemClock,
    signal: stopped.signal,
    connect: async (options, environment) =>
      await (await import("./connect.ts")).connectRunning(options, environment, systemClock),
  });
  // A signal that came meanwhile has the last word.
  process.exitCode ??= code;
  release();
  // Idle sockets and timers of libraries must not hold a command that has said all it had to say.
  process.stdout.write("", () => process.exit());
}

void main();
