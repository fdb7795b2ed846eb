import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { withoutInherited } from "#kernel/runtimes/index.ts";
import { outputFile } from "./worker-directory.ts";

export interface LauncherProgram {
  readonly words: readonly string[];
  /** PATH, HOME and variables for Git and SSH. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Starts a worker in its own session, so that it survives the server. `ended` is called once, with the error if it
 * could not be started. */
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
