import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { silentLog, systemClock } from "#lib/base/index.ts";
import type { Task } from "../contract.ts";
import { createProcessRuntime, type ProcessRuntimeOptions } from "../process/process-runtime.ts";

let bundled: Promise<string> | undefined;

/** The runner as a program, made once per test process: Node 20 cannot run the sources. */
export const runnerBundle = (): Promise<string> => (bundled ??= bundleRunner());

async function bundleRunner(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "slipway-runner-bundle-"));
  // Nothing asynchronous is finished at this point any more.
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const outfile = join(directory, "runner.cjs");
  const entry = fileURLToPath(new URL("../process/runner/main.ts", import.meta.url));
  await build({ entryPoints: [entry], outfile, bundle: true, format: "cjs", platform: "node", target: "node20.19" });
  return outfile;
}

/** A directory for a runner and its tasks; `remove` it. */
export async function temporaryDirectory() {
  const path = await mkdtemp(join(tmpdir(), "slipway-runner-"));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/** A runtime with real processes under `directory`, whose runner goes soon after its owner. */
export const testRuntime = async (directory: string, options: Partial<ProcessRuntimeOptions> = {}) =>
  createProcessRuntime({
    directory: join(directory, "runner"),
    runnerPath: await runnerBundle(),
    nodePath: process.execPath,
    clock: systemClock,
    log: silentLog,
    runnerIdle: 300,
    ...options,
  });

/** A task that runs a shell script. */
export const shellTask = (directory: string, id: string, script: string, more: Partial<Task> = {}): Task => ({
  id,
  command: ["/bin/sh", "-c", script],
  env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
  workingDirectory: directory,
  logPath: join(directory, "logs", `${id.replaceAll("/", "_")}.log`),
  ...more,
});

export { FakeJournal, FakeProcesses } from "./fake-processes.ts";
export { containerTask } from "./docker-tasks.ts";
export { plainSandbox, plainSetup } from "../plain-containers.ts";
export { createFakeRuntime, type FakeRuntime } from "./fake-runtime.ts";
