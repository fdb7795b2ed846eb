import type { RunCommands } from "#kernel/dialect/index.ts";

/** The RunActions of a workflow. Nothing can be suspended, skipped or approved. */
export const runCommands: RunCommands = {
  actions: ["cancel", "retry"],
  check({ action, step, steps, force }, report) {
    if (step !== undefined) report(["spec", "step"], "forbidden", `${action} is for the whole workflow`);
    if (steps !== undefined)
      report(
        ["spec", "steps"],
        "forbidden",
        "a retry starts over; set fromFailed to continue with the action that failed",
      );
    if (force !== undefined) report(["spec", "force"], "forbidden", "there are no final steps to leave out");
  },
};
