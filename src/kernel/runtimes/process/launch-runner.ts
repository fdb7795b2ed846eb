import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { ensureRunnerDirectories, type RunnerPaths } from "./paths.ts";

export interface LaunchOptions {
  /** The Node.js program. */
  readonly nodePath: string;
  /** The runner's bundle. */
  readonly runnerPath: string;
  readonly paths: RunnerPaths;
  readonly idleMs: number;
}

/** The runner needs little memory, and a small heap is what makes its spawning cheap. */
const nodeOptions = ["--max-old-space-size=48", "--max-semi-space-size=2", "--no-warnings"];

/**
 * Starts a runner in a session of its own, so that nothing that kills the server reaches it. Resolves when it listens, or when
 * it ended because another one serves the directory; rejects when it cannot be started.
 */
export async function launchRunner(options: LaunchOptions): Promise<void> {
  const { paths } = options;
  await ensureRunnerDirectories(paths);
  const log = openSync(paths.log, "a", 0o600);
  try {
    const child = spawn(
      options.nodePath,
      [...nodeOptions, options.runnerPath, paths.directory, `${options.idleMs}`],
      // Its own environment is nearly empty: what the server knows must not reach the tasks by accident.
      { cwd: paths.directory, detached: true, env: { PATH: "/usr/bin:/bin" }, stdio: ["ignore", "pipe", log] },
    );
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.stdout?.once("data", () => resolve());
      child.once("exit", (code, signal) => {
        if (code === 0) resolve();
        else reject(new Error(`the runner process ended at once (${signal ?? `exit code ${code}`})`));
      });
    });
    child.stdout?.destroy();
    child.unref();
  } finally {
    closeSync(log);
  }
}
