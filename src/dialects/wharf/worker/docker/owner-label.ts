import { identityOf, isAlive } from "#lib/base/index.node.ts";
import { hostname } from "node:os";

/** Label with the worker that created a container. */
export const ownerLabel = "slipway.dev/owner";

/** Label of containers that are kept for inspection. */
export const keepLabel = "slipway.dev/keep";

/** Identifies this process by host, pid, start and boot, which survives reuse of the pid. */
export function thisOwner(): string {
  const { pid, startTicks = "", boot = "" } = identityOf(process.pid);
  return [hostname(), pid, startTicks, boot].join(" ");
}

/** True only if the worker has certainly ended; unknown for other hosts. */
export function isOwnerGone(label: string): boolean {
  const [, host, pid, startTicks = "", boot = ""] = /^(\S+) (\d+) (\d+) (\S+)$/.exec(label) ?? [];
  if (host !== hostname() || pid === undefined) return false;
  return !isAlive({ pid: Number(pid), startTicks, boot });
}
