import { type ControlPlane, startControlPlane } from "../../src/app/server/control-plane.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { type DurableStore, openStore } from "#kernel/apiserver/index.ts";
import type { Runtime } from "#kernel/runtimes/index.ts";

/** The whole server of `slipway up` but for its listener, in this process. */
export interface HostPlane {
  readonly plane: ControlPlane;
  readonly store: DurableStore;
  /** Running tasks get a second to end. */
  readonly close: () => Promise<void>;
}

/** Steps are host processes, unless another runtime is given. */
export async function startHostPlane(dir: string, runnerPath: string, runtime?: Runtime): Promise<HostPlane> {
  const store = await openStore(`${dir}/store`);
  const plane = await startControlPlane({
    store,
    clock: systemClock,
    log: silentLog,
    version: "0.0.0",
    directory: dir,
    runnerPath,
    environment: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
    signal: new AbortController().signal,
    ...(runtime === undefined ? {} : { runtime }),
  });
  return {
    plane,
    store,
    async close() {
      await plane.close({ stopTasks: 1000 });
      await store.close();
    },
  };
}
