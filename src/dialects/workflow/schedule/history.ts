import type { Stored } from "#kernel/model/index.ts";
import { type Workflow, isFinished } from "../kinds.ts";
import { owesNews } from "../notify/owed.ts";
import type { ScheduleSpec } from "./kind.ts";
import { timeOf } from "./run.ts";

/** Finished runs beyond the limits, oldest first, per outcome. Runs started by people stay. */
export function superfluous(spec: ScheduleSpec, runs: readonly Stored<Workflow>[]): readonly Stored<Workflow>[] {
  const { successfulWorkflowsHistoryLimit = 3, failedWorkflowsHistoryLimit = 1 } = spec;
  const ended = runs
    .filter((run) => isFinished(run) && timeOf(run) !== undefined && run.metadata.deletionTimestamp === undefined)
    // Notifications are owed for an hour at most.
    .filter(({ status }) => !owesNews(status ?? {}))
    .toSorted((a, b) => (timeOf(a) ?? 0) - (timeOf(b) ?? 0));
  const isGood = ({ status }: Workflow): boolean => status?.phase === "Succeeded";
  return [
    ...beyond(ended.filter(isGood), successfulWorkflowsHistoryLimit),
    ...beyond(
      ended.filter((run) => !isGood(run)),
      failedWorkflowsHistoryLimit,
    ),
  ];
}

const beyond = <T>(oldestFirst: readonly T[], kept: number): readonly T[] =>
  oldestFirst.slice(0, Math.max(0, oldestFirst.length - kept));
