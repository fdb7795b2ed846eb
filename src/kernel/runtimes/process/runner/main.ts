// The runner process: starts host processes for a server that may die, and remembers their outcomes.
//
//     node runner.cjs DIRECTORY IDLE_MS
//
// DIRECTORY holds journal, lock, log, pipes and, if the path is short enough, the socket. IDLE_MS is how long the
// runner stays without owner and tasks. It prints `ready` when it listens and exits with 0 when it has nothing left to
// do or another runner has the directory. SIGTERM stops its tasks with a grace of 10 s.
import { writeSync } from "node:fs";
import { join } from "node:path";
import { acquireLock, isHeld, isAlive, signalGroup } from "#lib/base/index.node.ts";
import { formatInstant, messageOf, type Millis, systemClock } from "#lib/base/index.ts";
import type { Task, TaskStatus, TaskOutcome } from "../../contract.ts";
import { ensureRunnerDirectories, type RunnerPaths, runnerPaths } from "../paths.ts";
import { capabilitiesWith, onceFoundTools } from "./host-command.ts";
import {
  type NoteBegun,
  afterwards,
  failureCode,
  followTask,
  notStarted,
  type SpawnContext,
  type TaskProcess,
} from "./follow-task.ts";
import { Journal, type StartedEntry } from "./journal.ts";
import { MountPoints } from "./mount-points.ts";
import { PipePool } from "./pipe-pool.ts";
import { RunnerServer } from "./runner-server.ts";
import { findSupervisor, reportsOn, valuesIn } from "./supervisor.ts";
import { spawnTask } from "./task-process.ts";
import { TaskTable } from "./task-table.ts";

const [directory = "", idle = "10000"] = process.argv.slice(2);
// Terminal signals for the server must not end the tasks.
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

/** The launching server waits for this line, if it still runs. */
function sayReady(): void {
  try {
    writeSync(1, "ready\n");
  } catch {}
}

/** At most one line a minute: attempts come every second for each task. */
const complaintEvery: Millis = 60_000;

/** Logs journal failures on stderr. Never throws: that would end the runner and every task. */
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

/** Continues a killed runner's task; if impossible, kills it and returns undefined. Throws without its pipes. */
async function adoptTask(left: StartedEntry, context: SpawnContext): Promise<TaskProcess | undefined> {
  const { handover, process: identity, at: startedAt } = left;
  if (handover === undefined) return undefined;
  const { mounts = [], maskedVariables = [] } = handover;
  const isSupervised = isAlive(identity);
  const values = isSupervised ? valuesIn(identity.pid, maskedVariables) : undefined;
  const [out, err, reports] = handover.pipes;
  // Output first: a supervisor ends once its report is read, and its output with it if nothing reads that.
  const stdout = context.pipes.reopen(out);
  const stderr = context.pipes.reopen(err);
  const status = context.pipes.reopen(reports);
  if (values === undefined) {
    // A program that holds the output keeps the number of its group from being reused.
    if (isSupervised || stdout.wasHeld || stderr.wasHeld) signalGroup(identity.pid, "SIGKILL");
    for (const pipe of [stdout, stderr, status]) pipe.release(false);
    return undefined;
  }
  // The mount's source may have been removed since.
  const isHeld = await context.mountPoints.acquire(mounts).then(
    () => true,
    () => false,
  );
  const { started, exited } = reportsOn(status);
  const running = { pid: identity.pid, startedAt, outputs: [stdout, stderr], exited, identity } as const;
  const process = followTask(running, { ...handover, values }, context);
  const ended = afterwards(process.ended, async () => {
    status.release(false);
    if (isHeld) await context.mountPoints.release(mounts);
  });
  const outcome = async (): Promise<TaskOutcome> => {
    const [end, failure] = await Promise.all([ended, started]);
    if (failure === undefined) return end;
    return notStarted(
      values,
      failureCode(failure),
      `the program cannot be started: ${failure.message}`,
      end.finishedAt,
    );
  };
  return { ...process, ended: outcome() };
}
