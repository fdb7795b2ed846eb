import { isJsonObject, textAt } from "#lib/base/index.ts";
import type { RunAction, RunCommands } from "#kernel/dialect/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { Job, Machine } from "./objects.ts";
import { asJson } from "./model/read.ts";
import type { RebarStore, Write } from "./store.ts";

/** The RunActions of a machine. */
export const runCommands: RunCommands = {
  actions: ["suspend", "resume", "cancel", "retry"],
  check({ action, step, steps, force, values }, report) {
    if (step !== undefined) report(["spec", "step"], "forbidden", `${action} is for the whole machine`);
    if (steps !== undefined)
      report(
        ["spec", "steps"],
        "forbidden",
        "a retry starts over; set fromFailed to continue with the task that failed",
      );
    if (force !== undefined) report(["spec", "force"], "forbidden", "there are no final steps to leave out");
    if (values !== undefined) report(["spec", "values"], "forbidden", "no task asks for values");
  },
};

export interface Verdict {
  readonly phase: "Done" | "Refused";
  readonly message: string;
}

const done = (message: string): Verdict => ({ phase: "Done", message });
const refused = (message: string): Verdict => ({ phase: "Refused", message });

export const isCurrent = ({ spec }: RunAction, { metadata }: KubeObject): boolean =>
  spec.target.uid === undefined || spec.target.uid === metadata.uid;

/**
 * Carries out a RunAction: suspend and resume change Runnable; cancel also ends the job; retry begins the list anew, or
 * goes on with the task that failed. Rejects with `Refused` where the rules of machines do not allow it.
 */
export async function steer(
  store: RebarStore,
  { spec, status }: RunAction,
  { spec: stored }: KubeObject,
): Promise<Verdict> {
  const uuid = isJsonObject(stored) ? (textAt(stored, "Uuid") ?? "") : "";
  const machine = store.world.get("machines", uuid);
  if (machine === undefined) return refused("the machine is not complete yet");
  const by: Write = { by: { kind: "user", name: status?.by ?? "kubernetes" }, mayReposition: true };
  const job = store.world.get("jobs", machine.CurrentJob);
  switch (spec.action) {
    case "suspend":
      if (!machine.Runnable) return done("the machine was not Runnable");
      await setRunnable(store, machine, false, by);
      return done("the machine is not Runnable any more; a task that is running goes on");
    case "resume":
      if (machine.Runnable) return done("the machine was Runnable");
      await setRunnable(store, machine, true, by);
      return done("the machine is Runnable");
    case "cancel":
      return await cancel(store, machine, job, by);
    case "retry":
      return await retry(store, machine, spec.fromFailed === true, by);
    case "approve":
    case "reject":
    case "skip":
      return refused(`expected suspend, resume, cancel or retry: machines know no ${spec.action}`);
  }
}

const setRunnable = (store: RebarStore, { Uuid }: Machine, Runnable: boolean, by: Write): Promise<Machine> =>
  store.update("machines", Uuid, (now) => ({ ...asJson(now), Runnable }), by);

/** The failed job makes the machine not Runnable in the same write. */
async function cancel(store: RebarStore, machine: Machine, job: Job | undefined, by: Write): Promise<Verdict> {
  if (machine.WorkflowComplete) return refused("the task list is done; only retry is possible");
  if (job?.State === "created" || job?.State === "running" || job?.State === "incomplete") {
    await store.update("jobs", job.Uuid, (now) => ({ ...asJson(now), State: "failed", ExitState: "stop" }), by);
    return done(`job ${job.Uuid} was ended; its agent stops when it notices`);
  }
  if (!machine.Runnable) return done("the machine was not Runnable");
  await setRunnable(store, machine, false, by);
  return done("no task was running; the machine is not Runnable any more");
}

async function retry(store: RebarStore, machine: Machine, isFromFailed: boolean, by: Write): Promise<Verdict> {
  const job = store.world.get("jobs", machine.CurrentJob);
  if (job?.State === "created" || job?.State === "running")
    return refused(`job ${job.Uuid} is ${job.State}; cancel it first`);
  if (machine.Tasks.length === 0) return refused("the machine has no tasks");
  if (isFromFailed && machine.WorkflowComplete) return refused("all tasks have finished; a retry would have none");
  const change = (now: Machine) => ({ ...asJson(now), Runnable: true, ...(isFromFailed ? {} : { CurrentTask: -1 }) });
  await store.update("machines", machine.Uuid, change, by);
  return done(isFromFailed ? "the machine is Runnable; its failed task runs again" : "the task list begins anew");
}
