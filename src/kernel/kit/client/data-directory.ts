import { hasEnded, lockOwner, type LockOwner } from "#lib/base/index.node.ts";

/** The server that holds a data directory; undefined if none is running there. */
export async function serverOf(directory: string): Promise<LockOwner | undefined> {
  const owner = await lockOwner(`${directory}/lock`).catch(() => undefined);
  return owner === undefined || hasEnded(owner) ? undefined : owner;
}
