import { isAlive, signalGroup } from "#lib/base/index.node.ts";
import type { TaskOutcome } from "../../contract.ts";
import { afterwards, failureCode, followTask, notStarted, type SpawnContext, type TaskProcess } from "./follow-task.ts";
import type { StartedEntry } from "./journal.ts";
import { reportsOn, valuesIn } from "./supervisor.ts";

/** Continues a killed runner's task; if impossible, kills it and returns undefined. Throws without its pipes. */
export async function adoptTask(left: StartedEntry, context: SpawnContext): Promise<TaskProcess | undefined> {
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
