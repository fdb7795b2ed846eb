import { systemClock } from "#lib/base/index.ts";
import { ensureAdminToken, ensureCertificates } from "#kernel/apiserver/index.ts";
import { type HostPlane, startHostPlane } from "./host-plane.ts";
import type { Endpoint } from "./items.ts";

// B2: the whole server of `slipway up`, whose steps are host processes: Workflow -> Job -> Pod -> runner -> process.

let running: HostPlane | undefined;

export async function start({
  dir,
  runnerPath,
}: {
  readonly dir: string;
  readonly runnerPath: string;
}): Promise<Endpoint> {
  running = await startHostPlane(dir, runnerPath);
  const tls = await ensureCertificates(`${dir}/pki`, systemClock.now());
  const token = await ensureAdminToken(running.store);
  const { port } = await running.plane.server.listen({ port: 0, tls });
  return { port, token, ca: tls.ca };
}

export async function stop(): Promise<void> {
  await running?.close();
  running = undefined;
}
