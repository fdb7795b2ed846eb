import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import type { Cancel } from "#lib/base/index.ts";
import type { Patience } from "./patience.ts";
import { withoutInherited } from "./inherited-files.ts";
import { ensureRunnerDirectories, type RunnerPaths } from "./paths.ts";

export interface LaunchOptions {
  readonly nodePath: string;
  /** The runner's bundle: one file without dependencies, so that an upgrade cannot remove them. */
  readonly runnerPath: string;
  readonly paths: RunnerPaths;
  /** How long the runner stays without owner and tasks. */
  readonly idleMs: number;
  readonly patience: Patience;
}

/** A small heap makes spawning cheap. */
const nodeOptions = ["--max-old-space-size=48", "--max-semi-space-size=2", "--no-warnings"];

/**
 * Starts a runner in a session of its own, which signals to the server's group do not reach. Resolves when it listens,
 * or has ended because another runner serves the directory; rejects if it cannot be started or does not listen in time.
 * Its stderr is appended to its log.
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
      // Tasks must not inherit the server's environment by accident.
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
        reject(new Error("the runner process did not start listening in time"));
      });
      child.once("error", reject);
      child.stdout?.once("data", () => resolve());
      child.once("exit", (code, signal) => {
        if (code === 0) resolve();
        else reject(new Error(`the runner process exited at once (${signal ?? `exit code ${code}`})`));
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
