// The runner process: starts host processes for a server that may die, and remembers how they ended.
//   node runner.cjs DIRECTORY IDLE_MS
import { writeSync } from "node:fs";
import { join } from "node:path";
import { messageOf, systemClock } from "#lib/base/index.ts";
import { ensureRunnerDirectories, type RunnerPaths, runnerPaths } from "../paths.ts";
import { capabilitiesWith, onceFoundTools } from "./capabilities.ts";
import { acquireLock, releaseLock } from "./lock.ts";
import { PipePool } from "./pipe-pool.ts";
import { RunnerServer } from "./runner-server.ts";
import { TaskTable } from "./task-table.ts";

const [directory = "", idle = "10000"] = process.argv.slice(2);
// A terminal that closes or an interrupt typed at the server is not meant for the tasks.
for (const signal of ["SIGHUP", "SIGINT"] as const) process.on(signal, () => undefined);

async function main(paths: RunnerPaths, idleMs: number): Promise<void> {
  await ensureRunnerDirectories(paths);
  if (!(await acquireLock(paths.lock))) return;
  const tools = onceFoundTools();
  const server = new RunnerServer({
    clock: systemClock,
    socketPath: paths.socket,
    idle: idleMs,
    capabilities: async () => capabilitiesWith(await tools()),
  });
  const pipes = await PipePool.create(join(paths.directory, "pipes"));
  const table = await TaskTable.open({
    clock: systemClock,
    pipes,
    namespaceTools: tools,
    journalPath: paths.journal,
    onChange: (status) => server.tell(status),
    onTrouble: (failure) => complain(`the journal cannot be written: ${messageOf(failure)}`),
  });
  await server.listen(table);
  process.on("SIGTERM", () => table.stopAll(10_000));
  sayReady();
  await server.done;
  await server.close();
  await table.close();
  await releaseLock(paths.lock);
}

/** Whoever started this process waits for this line; it may be gone already. */
function sayReady(): void {
  try {
    writeSync(1, "ready\n");
  } catch {
    // Nobody waits any more; the next server will find the socket.
  }
}

/** Standard error is the runner's log file. */
function complain(text: string): void {
  writeSync(2, `${new Date(systemClock.now()).toISOString()} ${text}\n`);
}

void main(runnerPaths(directory), Number(idle));
