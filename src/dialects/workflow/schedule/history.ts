import type { Stored } from "#kernel/model/index.ts";
import { type Workflow, isFinished } from "../kinds.ts";
import { owesNews } from "../notify/owed.ts";
import type { ScheduleSpec } from "./kind.ts";
import { timeOf } from "./run.ts";

/** Ended runs beyond the limits, the oldest of each kind. Only those of the calendar: what a person made stays. */
export function superfluous(spec: ScheduleSpec, runs: readonly Stored<Workflow>[]): readonly Stored<Workflow>[] {
  const { successfulWorkflowsHistoryLimit = 3, failedWorkflowsHistoryLimit = 1 } = spec;
  const ended = runs
    .filter((run) => isFinished(run) && timeOf(run) !== undefined && run.metadata.deletionTimestamp === undefined)
    // Its end is still to be told, for an hour at most.
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

/** Nothing where fewer are there than may be kept. */
const beyond = <T>(oldestFirst: readonly T[], kept: number): readonly T[] =>
  oldestFirst.slice(0, Math.max(0, oldestFirst.length - kept));
