import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import type { Cancel } from "#lib/base/index.ts";
import type { Patience } from "./patience.ts";
import { withoutInherited } from "./inherited-files.ts";
import { ensureRunnerDirectories, type RunnerPaths } from "./paths.ts";

export interface LaunchOptions {
  /** The Node.js program. */
  readonly nodePath: string;
  /** The runner's bundle: one file without dependencies, so that an upgrade of the rest cannot pull them away from under it. */
  readonly runnerPath: string;
  /** Its directories are made when they are missing. */
  readonly paths: RunnerPaths;
  /** How long it stays without owner and tasks. */
  readonly idleMs: number;
  readonly patience: Patience;
}

/** The runner needs little memory, and a small heap is what makes its spawning cheap. */
const nodeOptions = ["--max-old-space-size=48", "--max-semi-space-size=2", "--no-warnings"];

/**
 * Starts a runner in a session of its own, so that nothing that kills the server reaches it. Resolves when it listens, or when
 * it ended because another one serves the directory; rejects when it cannot be started, or says nothing in time and is ended. What it complains about goes to its log,
 * which is appended to by each runner of the directory.
 */
export async function launchRunner(options: LaunchOptions): Promise<void> {
  const { paths } = options;
  await ensureRunnerDirectories(paths);
  const log = openSync(paths.log, "a", 0o600);
  const nothing = openSync("/dev/null", "r");
  try {
    const child = spawn(
      options.nodePath,
      [...nodeOptions, options.runnerPath, paths.directory, `${options.idleMs}`],
      // Its own environment is nearly empty: what the server knows must not reach the tasks by accident.
      {
        cwd: paths.directory,
        detached: true,
        env: { PATH: "/usr/bin:/bin" },
        stdio: ["ignore", "pipe", log, ...withoutInherited(nothing)],
      },
    );
    let cancel: Cancel = () => undefined;
    const begun = new Promise<void>((resolve, reject) => {
      cancel = options.patience.limit(() => {
        child.kill("SIGKILL");
        reject(new Error("the runner process does not begin to listen"));
      });
      child.once("error", reject);
      child.stdout?.once("data", () => resolve());
      child.once("exit", (code, signal) => {
        if (code === 0) resolve();
        else reject(new Error(`the runner process ended at once (${signal ?? `exit code ${code}`})`));
      });
    });
    await begun.finally(() => {
      cancel();
      child.stdout?.destroy();
      child.unref();
    });
  } finally {
    closeSync(nothing);
    closeSync(log);
  }
}
