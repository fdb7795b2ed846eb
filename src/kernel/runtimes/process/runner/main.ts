import { acquireLock, isHeld } from "#lib/base/index.node.ts";
// The runner process: starts host processes for a server that may die, and remembers how they ended.
//
//   node runner.cjs DIRECTORY IDLE_MS
//
// DIRECTORY  journal, lock, log, pipes and (if the path is short enough) socket; made when absent, for this user only
// IDLE_MS    how long it stays without an owner and without tasks
//
// It says `ready` on stdout when it listens, and ends with 0 when it has nothing left to do, at once when another runner has
// the directory. In this order: lock, journal (whose tasks are adopted), socket. SIGTERM gives its tasks 10 s.
import { writeSync } from "node:fs";
import { join } from "node:path";
import { formatInstant, messageOf, type Millis, systemClock } from "#lib/base/index.ts";
import type { Task, TaskStatus } from "../../contract.ts";
import { ensureRunnerDirectories, type RunnerPaths, runnerPaths } from "../paths.ts";
import { capabilitiesWith, onceFoundTools } from "./capabilities.ts";
import { adoptTask } from "./adopt-task.ts";
import type { NoteBegun } from "./follow-task.ts";
import { Journal, type StartedEntry } from "./journal.ts";
import { MountPoints } from "./mount-points.ts";
import { PipePool } from "./pipe-pool.ts";
import { RunnerServer } from "./runner-server.ts";
import { findSupervisor } from "./supervisor.ts";
import { spawnTask } from "./task-process.ts";
import { TaskTable } from "./task-table.ts";

const [directory = "", idle = "10000"] = process.argv.slice(2);
// An interrupt or a closed terminal of the server is not meant for the tasks.
for (const signal of ["SIGHUP", "SIGINT"] as const) process.on(signal, () => undefined);

async function main(paths: RunnerPaths, idleMs: number): Promise<void> {
  await ensureRunnerDirectories(paths);
  const lock = await acquireLock(paths.lock);
  if (!isHeld(lock)) return;
  const tools = onceFoundTools();
  const server = new RunnerServer({
    clock: systemClock,
    socketPath: paths.socket,
    idle: idleMs,
    capabilities: async () => capabilitiesWith(await tools()),
  });
  const { journal, last } = await Journal.open(paths.journal);
  const kept = last.flatMap((entry) => (entry.entry === "started" ? (entry.handover?.pipes ?? []) : []));
  const pipes = await PipePool.create(join(paths.directory, "pipes"), kept);
  const mountPoints = new MountPoints();
  const context = { clock: systemClock, pipes, namespaceTools: tools, mountPoints, supervisor: findSupervisor() };
  const options = {
    clock: systemClock,
    spawn: (task: Task, note: NoteBegun) => spawnTask(task, context, note),
    onChange: (status: TaskStatus) => server.tell(status),
    onTrouble: complaints(),
  };
  const adopt = (started: StartedEntry) => adoptTask(started, context);
  const table = await TaskTable.open(options, { journal, last, adopt });
  await server.listen(table);
  process.on("SIGTERM", () => table.stopAll(10_000));
  sayReady();
  await server.done;
  await server.close();
  await table.close();
  await lock.release();
}

/** The starter waits for this line, unless it is gone. */
function sayReady(): void {
  try {
    writeSync(1, "ready\n");
  } catch {
    // Nobody waits; the next server finds the socket.
  }
}

/** Attempts come every second for each task, and the log is on the full disk. */
const complaintEvery: Millis = 60_000;

/** Logs to standard error. Never throws: that would end the runner and all tasks. */
function complaints(): (failure: unknown) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (failure) => {
    const now = systemClock.monotonic();
    if (now - last < complaintEvery) return;
    last = now;
    try {
      writeSync(2, `${formatInstant(systemClock.now())} the journal cannot be written: ${messageOf(failure)}\n`);
    } catch {
      // The log is on the same full disk.
    }
  };
}

void main(runnerPaths(directory), Number(idle));
