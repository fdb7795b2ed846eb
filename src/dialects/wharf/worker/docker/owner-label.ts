import { formatIdentity, identityOf, isAlive, parseIdentity } from "#lib/base/index.node.ts";
import { hostname } from "node:os";

/** Label with the worker that created a container. */
export const ownerLabel = "slipway.dev/owner";

/** Label of containers that are kept for inspection. */
export const keepLabel = "slipway.dev/keep";

/** Identifies this process by host, pid, start and boot, which survives reuse of the pid. */
export const thisOwner = (): string => `${hostname()} ${formatIdentity(identityOf(process.pid))}`;

/** True only if the worker has certainly ended; unknown for other hosts. */
export function isOwnerGone(label: string): boolean {
  const [host, ...identity] = label.split(" ");
  const owner = host === hostname() ? parseIdentity(identity.join(" ")) : undefined;
  return owner !== undefined && !isAlive(owner);
}
