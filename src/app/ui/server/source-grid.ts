import type { RunView } from "#engine/index.ts";
import { ApiError, isForbidden, isNotFound } from "#kernel/model/index.ts";
import { gridSteps } from "../grid-steps.ts";
import type { SourceGrid } from "../wire.ts";
import type { UiContext } from "./context.ts";
import { summaryOfSource } from "./lists.ts";
import { findRun } from "./run-detail.ts";
import type { IndexedRun } from "./run-index.ts";
import type { PageCaller } from "#kernel/apiserver/index.ts";

const runsOfGrid = 50;

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
