import type { RunView, StepView } from "#engine/index.ts";
import { ApiError, isForbidden, isNotFound } from "#kernel/model/index.ts";
import type { GridCell, GridStep, SourceGrid } from "../wire.ts";
import type { UiContext } from "./context.ts";
import { medianOf, summaryOfSource } from "./lists.ts";
import { findRun } from "./run-detail.ts";
import type { IndexedRun } from "./run-index.ts";
import type { PageCaller } from "#kernel/apiserver/index.ts";

const runsOfGrid = 50;
/** A plan of more steps has rows for the first of them. */
const mostSteps = 500;

/** `runs` of the source, the newest first; they are read with the rights of the caller. */
export async function sourceGrid(
  { dialects }: UiContext,
  { client }: PageCaller,
  runs: readonly IndexedRun[],
  signal: AbortSignal,
): Promise<SourceGrid> {
  const shown = runs.slice(0, runsOfGrid);
  const source = summaryOfSource(shown);
  if (source === undefined) throw new ApiError("NotFound", "no run that you may see was made from this source");
  const views = await Promise.all(
    shown.map(async ({ summary: { dialect, ref }, namespace, type }): Promise<RunView | undefined> => {
      try {
        const name = { dialect, namespace, name: ref.name, kind: type.kind };
        const found = await findRun(client, dialects, name, signal);
        return found.dialect.runs.view(found.object, []);
      } catch (thrown) {
        // Deleted meanwhile, or not to be read: the column stays empty.
        if (isNotFound(thrown) || isForbidden(thrown)) return undefined;
        throw thrown;
      }
    }),
  );
  return { source, steps: gridSteps(views) };
}

/** A row for each step, in the order of the newest run that has it. */
export function gridSteps(views: readonly (Pick<RunView, "steps"> | undefined)[]): readonly GridStep[] {
  const first = new Map<string, StepView>();
  const cells = views.map((view) => {
    const byStep = new Map<string, GridCell>();
    for (const step of view?.steps ?? []) {
      if (!first.has(step.id)) first.set(step.id, step);
      byStep.set(step.id, cellOf(step));
    }
    return byStep;
  });
  return [...first.values()].slice(0, mostSteps).map(({ id, name, group }) => {
    const row = cells.map((byStep) => byStep.get(id) ?? null);
    const medianMs = medianOf(row.flatMap((cell) => cell?.ms ?? []));
    return {
      id,
      name,
      ...(group === undefined ? {} : { group }),
      ...(medianMs === undefined ? {} : { medianMs }),
      cells: row,
    };
  });
}

const cellOf = ({ phase, startedAt, finishedAt, attempt }: StepView): GridCell => ({
  phase,
  ...(startedAt === undefined || finishedAt === undefined ? {} : { ms: finishedAt - startedAt }),
  ...(attempt > 1 ? { attempt } : {}),
});
