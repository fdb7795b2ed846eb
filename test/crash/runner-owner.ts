// A stand-in for the server: attaches to a runner, starts the tasks it is told on stdin, prints what it hears, and is killed.
import { createInterface } from "node:readline";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { createProcessRuntime, type Task } from "#kernel/runtimes/index.ts";

const [directory = "", runnerPath = ""] = process.argv.slice(2);
const say = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);

const runtime = createProcessRuntime({
  directory,
  runnerPath,
  nodePath: process.execPath,
  clock: systemClock,
  log: silentLog,
  runnerIdle: 2_000,
});
runtime.subscribe((status) => say(status));
await runtime.list();
say("attached");
for await (const line of createInterface({ input: process.stdin })) {
  const task = JSON.parse(line) as Task;
  void runtime.start(task).catch((failure: unknown) => say(`failed: ${String(failure)}`));
}
