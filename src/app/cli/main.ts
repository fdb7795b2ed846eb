import { CommanderError } from "commander";
import { codeOf, holdProcess, SlipwayError, toError } from "#lib/base/index.ts";
import { commands } from "./commands/index.ts";
import { readEnvironment } from "./environment.ts";
import { Exit, exitCode, UsageError } from "./exit-codes.ts";
import { buildProgram, usageExit } from "./program.ts";
import { version } from "./version.ts";

const stopped = new AbortController();
let signals = 0;

/** The first signal asks everything to end; the second ends this process at once. */
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

/** Prints what went wrong for people; the cause chain with `-v`, the stack with `-vv`. Returns the exit code. */
function report(thrown: unknown, verbose: number): number {
  if (thrown instanceof Exit) return thrown.code;
  if (thrown instanceof CommanderError) return usageExit(thrown.exitCode);
  const { err } = readEnvironment();
  const error = toError(thrown);
  err.write(`slipway: ${error.message}\n`);
  const hint = error instanceof UsageError || error instanceof SlipwayError ? error.hint : undefined;
  if (hint !== undefined) err.write(`${hint}\n`);
  if (verbose > 0) for (const cause of causesOf(error)) err.write(`  because: ${cause.message}\n`);
  if (verbose > 1) err.write(`${error.stack ?? ""}\n`);
  return error instanceof UsageError ? exitCode.usage : exitCode.failed;
}

/** What caused it, what caused that, and so on; the chain of a broken library may be a circle. */
function causesOf(error: Error): readonly Error[] {
  const causes: Error[] = [];
  for (let { cause } = error; cause !== undefined && causes.length < 10; { cause } = toError(cause))
    causes.push(toError(cause));
  return causes;
}

async function main(): Promise<void> {
  process.on("SIGINT", () => onSignal("SIGINT"));
  process.on("SIGTERM", () => onSignal("SIGTERM"));
  process.stdout.on("error", onBrokenPipe);
  process.stderr.on("error", onBrokenPipe);
  const finish = (code: number) => {
    process.exitCode ??= code;
  };
  // A command is over when its promise is, not when nothing but timers that hold nobody back is left.
  const release = holdProcess();
  const program = buildProgram(commands, version, stopped.signal, finish);
  try {
    await program.parseAsync();
  } catch (thrown) {
    const { verbose } = program.opts<{ verbose: number }>();
    finish(report(thrown, verbose));
  }
  release();
  // Idle sockets and timers of libraries must not hold a command that has said all it had to say.
  process.stdout.write("", () => process.exit());
}

void main();
