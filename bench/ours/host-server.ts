import { startControlPlane, type ControlPlane } from "../../src/app/server/control-plane.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { type DurableStore, ensureAdminToken, ensureCertificates, openStore } from "#kernel/apiserver/index.ts";
import type { Endpoint } from "./items.ts";

// B2: the whole server of `slipway up`, whose steps are host processes: Workflow -> Job -> Pod -> runner -> process.

let running: { readonly plane: ControlPlane; readonly store: DurableStore } | undefined;

export async function start({
  dir,
  runnerPath,
}: {
  readonly dir: string;
  readonly runnerPath: string;
}): Promise<Endpoint> {
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
  });
  running = { plane, store };
  const tls = await ensureCertificates(`${dir}/pki`, systemClock.now());
  const token = await ensureAdminToken(store);
  const { port } = await plane.server.listen({ port: 0, tls });
  return { port, token, ca: tls.ca };
}

export async function stop(): Promise<void> {
  await running?.plane.close({ stopTasks: 1000 });
  await running?.store.close();
  running = undefined;
}
