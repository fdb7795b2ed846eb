import { join } from "node:path";
import { acquireLock, isHeld, makeDirectories, type ProcessLock } from "#lib/base/index.node.ts";
import { StoreLockedError } from "./errors.ts";

// A process that was killed takes a moment to give up what it held: an immediate restart must not be refused for that.
const patience = 1_500;

/**
 * Takes `<directory>/lock`, creating the directory if need be. Rejects with StoreLockedError while the owner lives;
 * this process itself counts.
 */
export async function lockDirectory(directory: string): Promise<ProcessLock> {
  await makeDirectories(directory, 0o700);
  const outcome = await acquireLock(join(directory, "lock"), patience);
  if (isHeld(outcome)) return outcome;
  throw new StoreLockedError(directory, outcome);
}
