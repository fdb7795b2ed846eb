import type { Job, Machine } from "./objects.ts";
import { whyNot } from "./messages.ts";
import type { RebarEvent } from "./store.ts";

/** What a Kubernetes Event says of a machine. */
export interface Notice {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** The turns of a machine that people look for; single tasks are in its jobs. `job` is its current one. */
export function noticesOf(
  event: Pick<RebarEvent, "Type" | "Action" | "Principal" | "Object" | "Original">,
  job: Job | undefined,
): Notice[] {
  const { Type, Action, Principal, Object: after, Original: before } = event;
  if (Type !== "machines" || (Action !== "update" && Action !== "save") || after === null || before === null) return [];
  // The store tells machines under this type.
  return [...between(before as Machine, after as Machine, Principal, job)];
}

function* between(before: Machine, after: Machine, by: string, job: Job | undefined): Generator<Notice> {
  const { Workflow, Tasks, Errors } = after;
  if (before.Workflow !== Workflow)
    yield {
      type: "Normal",
      reason: "WorkflowChanged",
      message: Workflow === "" ? "the workflow was removed" : `the workflow is ${Workflow}`,
    };
  if (before.Available && !after.Available)
    yield { type: "Warning", reason: "NotAvailable", message: whyNot.unavailable(Errors) };
  if (before.Runnable && !after.Runnable) yield stopped(by, job);
  if (!before.Runnable && after.Runnable)
    yield { type: "Normal", reason: "Runnable", message: "the machine is Runnable" };
  if (!before.WorkflowComplete && after.WorkflowComplete && Tasks.length > 0)
    yield { type: "Normal", reason: "Complete", message: "all tasks have finished" };
}

const stopped = (by: string, job: Job | undefined): Notice =>
  job?.State === "failed"
    ? { type: "Warning", reason: "JobFailed", message: `task ${job.Task} failed: job ${job.Uuid}` }
    : {
        type: "Normal",
        reason: "NotRunnable",
        message: whyNot.notRunnable(`${who(by)} made it so${job === undefined ? "" : ` at task ${job.Task}`}`),
      };

/** Principals are `user:NAME`, `runner:UUID` and `internal`. */
const who = (principal: string): string =>
  principal.startsWith("user:")
    ? principal.slice("user:".length)
    : principal.startsWith("runner:")
      ? "its agent"
      : "a change";
