import { join } from "node:path";
import { serveResults } from "#dialects/wharf/worker-api/serve-results.ts";
import { createResults } from "#dialects/wharf/results/results-store.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { replayBuild, replayLine, replayLines } from "./replay-lines.ts";

/** B9c: a build that has ended, served by its worker. */
export async function start({ dir }: { readonly dir: string }): Promise<{ readonly port: number }> {
  const results = await createResults(join(dir, "results"), replayBuild, { clock: systemClock });
  let drained = (): void => undefined;
  const log = await results.openLog(1, { onDrain: () => drained() });
  const chunk = Buffer.from(replayLine.repeat(1000));
  for (let at = 0; at < replayLines; at += 1000) {
    const drain = new Promise<void>((resolve) => (drained = resolve));
    if (!log.append("stdout", chunk)) await drain;
  }
  await results.setStatus(1, "Success", 0);
  await results.finish({ status: "Success" });
  await results.freeze();
  const { port } = await serveResults(results, { address: "127.0.0.1:0", clock: systemClock, log: silentLog });
  return { port };
}
