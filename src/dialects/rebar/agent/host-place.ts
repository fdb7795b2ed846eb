import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock, Logger } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { createLocalRuntime } from "#kernel/runtimes/index.ts";
import type { WorkPlace } from "./work-place.ts";

export interface HostPlaceOptions {
  /** RS_RUNNER_DIR if it is given; kept at the end. */
  readonly runnerDirectory?: string;
  /** Parent of a fresh runner directory otherwise. */
  readonly temporary: string;
  /** What scripts inherit. */
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** This machine. Scripts end with this process, even if it is killed. */
export async function openHostPlace(options: HostPlaceOptions): Promise<WorkPlace> {
  const { runnerDirectory: given, temporary, environment, clock, log } = options;
  await makeDirectories(given ?? temporary);
  const runnerDirectory = given ?? (await mkdtemp(join(temporary, "runner-")));
  const own = await mkdtemp(join(runnerDirectory, ".runtime-"));
  const runtime = createLocalRuntime({ directory: own, clock, log });
  let started = 0;
  return {
    runnerDirectory,
    environment,
    makeTaskDirectory: (task) => mkdtemp(join(runnerDirectory, `${task}-`)),
    async write(path, content, mode) {
      await makeDirectories(dirname(path));
      await writeFile(path, content, { mode });
      // An existing file has kept its own.
      await chmod(path, mode);
    },
    isFile: (path) =>
      stat(path).then(
        (found) => found.isFile(),
        () => false,
      ),
    remove: (directory) => rm(directory, { recursive: true, force: true }),
    async start({ command, env, directory }) {
      const task = {
        id: `script/${++started}`,
        // One stream keeps both outputs in order.
        command: ["/bin/sh", "-c", 'exec "$0" "$@" 2>&1', ...command] as const,
        env,
        workingDirectory: directory,
        logPath: join(own, "log"),
      };
      const running = await runtime.interact(task, { stdin: false, terminal: false });
      running.stderr?.resume();
      return { output: running.stdout, ended: running.ended, kill: () => running.kill() };
    },
    async close() {
      await runtime.close({ stopTasks: 0 });
      await rm(given === undefined ? runnerDirectory : own, { recursive: true, force: true });
    },
  };
}
