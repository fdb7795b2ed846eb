import { join } from "node:path";
import { acquireLock, isHeld, makeDirectories, type ProcessLock } from "#lib/base/index.node.ts";
import { StoreLockedError } from "./errors.ts";

// A killed process takes a moment to release its lock, and must not prevent an immediate restart.
const patience = 1_500;

/** Takes `<directory>/lock`. Rejects with StoreLockedError while an owner lives, even this process. */
export async function lockDirectory(directory: string): Promise<ProcessLock> {
  await makeDirectories(directory, 0o700);
  const outcome = await acquireLock(join(directory, "lock"), patience);
  if (isHeld(outcome)) return outcome;
  throw new StoreLockedError(directory, outcome);
}
