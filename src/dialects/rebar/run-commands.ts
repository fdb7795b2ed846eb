import type { RunCommands } from "#kernel/dialect/index.ts";

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
