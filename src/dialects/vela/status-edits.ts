import { isJsonObject, type JsonObject, type JsonValue, objectAt, objectsAt } from "#lib/base/index.ts";

// People steer a run by editing its status: `suspend`, `terminated`, the phases of steps, or an empty `workflow`. All
// other members are written by controllers alone. The server enforces that, so a controller that finds such a member
// changed since its own last write knows that somebody may have changed it who
//
// - has the right to update `applications/status` or `workflowruns/status`, which no role for people contains except
//   the administrator's, and
// - gave a command, which starts nothing that the writers of the spec did not ask for: steps still run with their
//   rights. So commands need no name to be obeyed.
//
// Who gave a command is in the audit log. A RunAction, which needs no such right, names its author in `status.by`,
// which only the server writes.

/** The part of an Application's status that only controllers write. `before` is the stored status. */
export function ownStatusOfApplication(status: JsonObject, before: JsonObject = status): JsonValue {
  const { status: _phase, phase: _same, workflow, ...own } = status;
  const [now, then] = [objectAt(status, "workflow"), objectAt(before, "workflow")];
  // Emptied to restart.
  if (now === undefined || isEmpty(now)) return { ...own, workflow: ownWorkflow(then ?? {}, then ?? {}) };
  return { ...own, workflow: isJsonObject(workflow) ? ownWorkflow(workflow, then ?? {}) : null };
}

/** Of a WorkflowRun, whose status is the workflow's. */
export const ownStatusOfRun = (status: JsonObject, before: JsonObject = status): JsonValue =>
  isEmpty(status) ? ownWorkflow(before, before) : ownWorkflow(status, before);

const isEmpty = (object: JsonObject): boolean => Object.values(object).every((value) => value === undefined);

const ownWorkflow = (workflow: JsonObject, before: JsonObject): JsonObject => {
  const { suspend: _suspend, terminated, steps, ...own } = workflow;
  const ownSteps = Array.isArray(steps) ? { steps: ownStepsOf(workflow, before, terminated === true) } : {};
  return { ...own, ...ownSteps };
};

const ownStepsOf = (holder: JsonObject, before: JsonObject, isTerminated: boolean): readonly JsonObject[] => {
  const old = new Map(objectsAt(before, "steps").map((step) => [step["name"], step]));
  return [...objectsAt(holder, "steps"), ...objectsAt(holder, "subSteps")].map((step) => {
    const then = old.get(step["name"]) ?? {};
    const { phase, reason, subSteps, ...own } = step;
    const isCommand = isCommanded(phase, then["phase"], isTerminated);
    const words = isCommand ? { phase: then["phase"], reason: then["reason"] } : { phase, reason };
    const subs = { steps: subSteps };
    const inner = Array.isArray(subSteps)
      ? { subSteps: ownStepsOf(subs, { steps: then["subSteps"] }, isTerminated) }
      : {};
    return { ...own, ...words, ...inner };
  });
};

/** Suspending and resuming a step, and what terminating does to it. */
function isCommanded(phase: JsonValue | undefined, before: JsonValue | undefined, isTerminated: boolean): boolean {
  const isActive = before === "running" || before === "suspending";
  if (phase === "running" || phase === "suspending") return isActive;
  return isTerminated && ((phase === "failed" && isActive) || (phase === "skipped" && before === "pending"));
}
