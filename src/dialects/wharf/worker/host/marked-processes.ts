// A process that has left its session and its group is nobody's child any more; what it still has is its variables, and one of them says which step it
// is of. Only who takes that variable away, or becomes another user, is not found.

import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { codeOf, type Millis } from "#lib/base/index.ts";

/** By its value a process is known: where its step leaves artifacts, which is nobody else's place. */
export const markVariable = "WHARF_ARTIFACTS_DIR";

/** A step whose processes are looked for. */
export interface MarkedStep {
  /** What `markVariable` is in its processes. */
  readonly mark: string;
  /** Its first process: those that it has started have later numbers, until numbers begin anew. */
  readonly firstPid: number;
  /** How long ago it was started. */
  readonly age: Millis;
  /** First processes of other steps: whose they are is known, and they are the most of what many steps beside each other run. */
  readonly others: ReadonlySet<number>;
}

/** In this time numbers do not go round, and it is enough to look at those given since. */
const roundTrip: Millis = 2_000;
/** What is killed may have started others meanwhile. One that starts them faster than it is killed wins. */
const rounds = 20;

/**
 * Sends a signal to all processes of a step, wherever they have gone. After SIGKILL it is looked again until there
 * is none that has not got it. All in this turn. Elsewhere than on Linux none is found.
 */
export function signalMarked(step: MarkedStep, signal: "SIGTERM" | "SIGKILL"): void {
  const mark = Buffer.from(`${markVariable}=${step.mark}\0`);
  signalFound(() => candidatesOf(step).filter((pid) => !step.others.has(pid)), mark, signal);
}

/** SIGKILL to all processes whose artifacts are somewhere below a directory. */
export function killMarkedBelow(directory: string): void {
  signalFound(everyPid, Buffer.from(`${markVariable}=${directory}/`), "SIGKILL");
}

function signalFound(pids: () => readonly number[], mark: Buffer, signal: "SIGTERM" | "SIGKILL"): void {
  // What has its signal may take a moment to end, and is not waited for.
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

/** Whether one of the variables begins so; within another one it may be anybody's words. */
function hasVariable(variables: Buffer | undefined, beginning: Buffer): boolean {
  if (variables === undefined) return false;
  let at = variables.indexOf(beginning);
  while (at > 0 && variables[at - 1] !== 0) at = variables.indexOf(beginning, at + 1);
  return at >= 0;
}

/** Those that may be of a step: the numbers since its first one, or all. */
function candidatesOf({ firstPid, age }: MarkedStep): readonly number[] {
  const last = age > roundTrip ? undefined : lastPid();
  if (last === undefined || last < firstPid) return everyPid();
  const count = last - firstPid + 1;
  // Asking for a few is less than listing all.
  if (count <= 32) return Array.from({ length: count }, (_, at) => firstPid + at);
  return everyPid().filter((pid) => pid >= firstPid);
}

const everyPid = (): readonly number[] => {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    // This system tells nobody of processes in this way.
    return [];
  }
};

/** The last field of proc(5) loadavg: the number that was given last. */
function lastPid(): number | undefined {
  try {
    const pid = Number(readFileSync("/proc/loadavg", "latin1").trim().split(" ").at(-1));
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** More than most processes have. */
const usualBytes = 32 * 1024;

/**
 * Reads variables of one process after another into the same room: what it answers is valid until the next call. Of a process that has gone, and of
 * other users', nothing can be read; one that is about to end has none.
 */
function variablesReader(): (pid: number) => Buffer | undefined {
  let room = Buffer.allocUnsafeSlow(usualBytes);
  return (pid) => {
    let file: number | undefined;
    try {
      file = openSync(`/proc/${pid}/environ`, "r");
      for (;;) {
        // The kernel fills what room there is: less is all.
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

/** It may have ended since it was looked at, or have become another user's. */
function signalProcess(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch (thrown) {
    if (codeOf(thrown) !== "ESRCH" && codeOf(thrown) !== "EPERM") throw thrown;
  }
}
