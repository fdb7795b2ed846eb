import { hasEnded, lockOwner, type LockOwner } from "#lib/base/index.node.ts";

export async function serverOf(directory: string): Promise<LockOwner | undefined> {
  const owner = await lockOwner(`${directory}/lock`).catch(() => undefined);
  return owner === undefined || hasEnded(owner) ? undefined : owner;
}
