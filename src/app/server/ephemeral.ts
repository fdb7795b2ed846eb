import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import type { Clock, Millis } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { memoryStore } from "#kernel/apiserver/index.ts";
import { createLocalRuntime } from "#kernel/runtimes/index.ts";
import { startControlPlane } from "./control-plane.ts";
import { type LogLevel, plainLog } from "./plain-log.ts";
import { runnerPath } from "./runner-path.ts";

/** What a control plane of one command is told by it. */
export interface EphemeralOptions {
  readonly clock: Clock;
  readonly version: string;
  readonly level: LogLevel;
  /** Where steps work that name no directory. */
  readonly workingDirectory: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** A control plane of one command: everything it knows is gone when it closes, and its steps with it. */
export interface EphemeralControlPlane {
  readonly client: ApiClient;
  close(): Promise<void>;
}

const stopGrace: Millis = 2000;

/**
 * Starts a control plane in this process, in memory, with a temporary directory for the files of Pods. It does not listen. Its
 * steps are children of this process and are killed when it ends before it is closed.
 */
export async function startEphemeral({ level, ...options }: EphemeralOptions): Promise<EphemeralControlPlane> {
  const { clock } = options;
  const log = plainLog(level, clock);
  const directory = await mkdtemp(`${tmpdir()}/slipway-run-`);
  const runtime = createLocalRuntime({ directory, clock, log });
  const onExit = () => runtime.kill();
  process.once("exit", onExit);
  const store = memoryStore({ clock, log });
  const clean = async () => {
    process.off("exit", onExit);
    await store.close();
    // Some twenty entries: at once is faster than one by one beside a loop that has nothing else to do.
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    const plane = await startControlPlane({ ...options, store, log, directory, runnerPath, runtime, isFresh: true });
    return {
      client: plane.server.client(),
      async close() {
        await plane.close({ stopTasks: stopGrace });
        await clean();
      },
    };
  } catch (thrown) {
    await clean();
    throw thrown;
  }
}
