import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { withoutInherited } from "#kernel/runtimes/index.ts";
import { outputFile } from "./worker-directory.ts";

/** The program of this system and what it knows of its user. */
export interface LauncherProgram {
  /** `[node, slipway.cjs]`. */
  readonly words: readonly string[];
  /** PATH, HOME and what Git and SSH need; never the whole of the server's. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Starts the program of a worker in a session of its own, so that nothing that ends the server reaches it. What it says goes to a file of its
 * directory. Its argument list names the directory and the file in it that says what to do. `ended` is told once, with what went wrong if it could not be started.
 */
export function spawnLauncher(
  [directory, launch]: readonly [directory: string, launch: string],
  { words, environment }: LauncherProgram,
  ended: (failure?: Error) => void,
): ChildProcess {
  const [program = process.execPath, ...rest] = words;
  const output = openSync(outputFile(directory), "a", 0o600);
  const nothing = openSync("/dev/null", "r");
  try {
    const child = spawn(program, [...rest, "wharf", "launch", directory, launch], {
      cwd: directory,
      detached: true,
      env: environment,
      stdio: ["ignore", output, output, ...withoutInherited(nothing)],
    });
    child.once("error", (failure) => ended(failure));
    child.once("exit", () => ended());
    child.unref();
    return child;
  } finally {
    closeSync(nothing);
    closeSync(output);
  }
}
