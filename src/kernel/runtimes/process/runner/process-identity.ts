import { readFileSync } from "node:fs";
import { codeOf } from "#lib/base/index.ts";
import type { ProcessIdentity } from "./journal.ts";

/** Who `pid` is right now. Reads two small kernel files; elsewhere than on Linux only the pid is known. */
export function identityOf(pid: number): ProcessIdentity {
  const startTicks = startTicksOf(pid);
  const boot = bootId();
  return startTicks === undefined || boot === undefined ? { pid } : { pid, startTicks, boot };
}

/** True only when exactly this process still exists. Where the system tells no start times nobody is known to be alive. */
export function isAlive(process: ProcessIdentity): boolean {
  if (process.startTicks === undefined) return false;
  return process.boot === bootId() && process.startTicks === startTicksOf(process.pid);
}

/**
 * Sends a signal to a process group. False when no process of it is left. The caller must know that the group is still its own:
 * its leader has not been waited for, or was alive a moment ago.
 */
export function signalGroup(leader: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch (thrown) {
    // EPERM: only processes of other users are left in it, which had to leave our reach by themselves.
    if (codeOf(thrown) === "ESRCH" || codeOf(thrown) === "EPERM") return false;
    throw thrown;
  }
}

/** Field 22 of proc(5) stat, kept as text: it is only ever compared. */
function startTicksOf(pid: number): string | undefined {
  const stat = readKernelFile(`/proc/${pid}/stat`);
  // The second field, the program's name in parentheses, may itself hold spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  // A zombie has ended; only its parent has not asked yet.
  return fields?.[0] === "Z" ? undefined : fields?.[19];
}

// The same for as long as this process can live.
let knownBoot: string | undefined;

function bootId(): string | undefined {
  knownBoot ??= readKernelFile("/proc/sys/kernel/random/boot_id")?.trim();
  return knownBoot;
}

function readKernelFile(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // The process is gone, or this system has no /proc: both mean that nothing is known.
    return undefined;
  }
}
