// Processes that have left their session and group are found by an environment variable, unless they remove it or
// change the user.

import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { codeOf, type Millis } from "#lib/base/index.ts";

export const markVariable = "WHARF_ARTIFACTS_DIR";

export interface MarkedStep {
  readonly mark: string;
  /** Processes of the step have higher ids, until ids wrap around. */
  readonly firstPid: number;
  readonly age: Millis;
  /** First processes of other steps, which are skipped. */
  readonly others: ReadonlySet<number>;
}

/** Process ids do not wrap around within this time. */
const roundTrip: Millis = 2_000;
/** Processes may start others while they are killed. */
const rounds = 20;

/** Signals all processes of a step synchronously; SIGKILL is repeated until no process is left. Linux only. */
export function signalMarked(step: MarkedStep, signal: "SIGTERM" | "SIGKILL"): void {
  const mark = Buffer.from(`${markVariable}=${step.mark}\0`);
  signalFound(() => candidatesOf(step).filter((pid) => !step.others.has(pid)), mark, signal);
}

export function killMarkedBelow(directory: string): void {
  signalFound(everyPid, Buffer.from(`${markVariable}=${directory}/`), "SIGKILL");
}

function signalFound(pids: () => readonly number[], mark: Buffer, signal: "SIGTERM" | "SIGKILL"): void {
  // Signalled processes may take a moment to end.
  const done = new Set([process.pid]);
  const variablesOf = variablesReader();
  for (let round = 0; round < (signal === "SIGKILL" ? rounds : 1); round++) {
    const found = pids().filter((pid) => !done.has(pid) && hasVariable(variablesOf(pid), mark));
    if (found.length === 0) return;
    for (const pid of found) {
      signalProcess(pid, signal);
      done.add(pid);
    }
  }
}

function hasVariable(variables: Buffer | undefined, beginning: Buffer): boolean {
  if (variables === undefined) return false;
  let at = variables.indexOf(beginning);
  while (at > 0 && variables[at - 1] !== 0) at = variables.indexOf(beginning, at + 1);
  return at >= 0;
}

function candidatesOf({ firstPid, age }: MarkedStep): readonly number[] {
  const last = age > roundTrip ? undefined : lastPid();
  if (last === undefined || last < firstPid) return everyPid();
  const count = last - firstPid + 1;
  if (count <= 32) return Array.from({ length: count }, (_, at) => firstPid + at);
  return everyPid().filter((pid) => pid >= firstPid);
}

const everyPid = (): readonly number[] => {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
};

/** The last field of /proc/loadavg: the latest process id. */
function lastPid(): number | undefined {
  try {
    const pid = Number(readFileSync("/proc/loadavg", "latin1").trim().split(" ").at(-1));
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

const usualBytes = 32 * 1024;

/** Reads environments into a reused buffer, valid until the next call. Undefined for processes of other users and ended
 * ones. */
function variablesReader(): (pid: number) => Buffer | undefined {
  let room = Buffer.allocUnsafeSlow(usualBytes);
  return (pid) => {
    let file: number | undefined;
    try {
      file = openSync(`/proc/${pid}/environ`, "r");
      for (;;) {
        const length = readSync(file, room, 0, room.length, 0);
        if (length < room.length) return room.subarray(0, length);
        room = Buffer.allocUnsafeSlow(2 * room.length);
      }
    } catch {
      return undefined;
    } finally {
      if (file !== undefined) closeSync(file);
    }
  };
}

/** The process may have ended or changed its user. */
function signalProcess(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch (thrown) {
    if (codeOf(thrown) !== "ESRCH" && codeOf(thrown) !== "EPERM") throw thrown;
  }
}
