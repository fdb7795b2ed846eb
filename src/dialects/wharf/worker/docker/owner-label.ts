import { identityOf, isAlive } from "#lib/base/index.node.ts";
import { hostname } from "node:os";

/** Says of a container which worker has made it. */
export const ownerLabel = "slipway.dev/owner";

/** Says of a container that it was made to be looked at afterwards, whoever is gone. */
export const keepLabel = "slipway.dev/keep";

/** This process: host, number, start and boot, so that no later process of the number is taken for it. */
export function thisOwner(): string {
  const { pid, startTicks = "", boot = "" } = identityOf(process.pid);
  return [hostname(), pid, startTicks, boot].join(" ");
}

/**
 * Whether that worker has ended for certain. Of another machine, and where the system tells no start times, nobody here knows: containers of those
 * are left alone.
 */
export function isOwnerGone(label: string): boolean {
  const [, host, pid, startTicks = "", boot = ""] = /^(\S+) (\d+) (\d+) (\S+)$/.exec(label) ?? [];
  if (host !== hostname() || pid === undefined) return false;
  return !isAlive({ pid: Number(pid), startTicks, boot });
}
