import { closedLoop } from "../harness/closed-loop.ts";
import type { Measured } from "../harness/types.ts";
import { declarationOf, managers } from "../ours/applies.ts";

// Floor of a server-side apply: the text of what is applied is read, put over the part of the object that is this manager's, and the whole
// object written as a text. No owners, no defaults, no rules, no store.

export async function run({ ms }: { readonly ms: number }): Promise<Measured> {
  const parts: unknown[] = Array.from({ length: managers }, (_, manager) => declarationOf(manager, 0));
  const cpu = process.cpuUsage();
  let written = 0;
  const figures = await closedLoop({ ms, inFlight: 1 }, (id) => {
    const manager = id % managers;
    parts[manager] = JSON.parse(JSON.stringify(declarationOf(manager, id)));
    written += JSON.stringify(parts).length;
    return Promise.resolve();
  });
  const { user, system } = process.cpuUsage(cpu);
  return { ...figures, cpuUs: user + system, note: `${Math.round(written / figures.ops / 1024)} KiB` };
}
