import type { RunView, StepView } from "#engine/index.ts";
import type { GridCell, GridStep } from "./wire.ts";

/** A plan of more steps has rows for the first of them. */
const mostSteps = 500;

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

export function medianOf(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
