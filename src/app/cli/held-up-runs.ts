import type { Dialect } from "#kernel/dialect/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { ResourceType, Stored } from "#kernel/model/index.ts";
import { hasEnded } from "./follow-run.ts";
import { listRunPods, viewOf } from "#app/runs/index.ts";

/** At most so many runs, since each costs a request. */
const mostRuns = 10;

export interface ShownRuns {
  readonly namespace: string | undefined;
  readonly names: readonly string[];
  readonly selector: string | undefined;
}

/** A line for every step that is held up in the unfinished runs of a table. */
export async function heldUpRuns(
  client: ApiClient,
  type: ResourceType,
  dialect: Dialect,
  { namespace, names, selector }: ShownRuns,
): Promise<readonly string[]> {
  const scope = {
    ...(namespace === undefined ? {} : { namespace }),
    ...(selector === undefined || names.length > 0 ? {} : { labelSelector: selector }),
  };
  const { items } = await client.list(type, scope);
  const shown = items.filter(({ metadata }) => names.length === 0 || names.includes(metadata.name));
  return await heldUpAmong(client, dialect, shown);
}

export async function heldUpAmong(
  client: ApiClient,
  dialect: Dialect,
  runs: readonly Stored[],
): Promise<readonly string[]> {
  const unfinished = runs.filter((run) => !hasEnded(viewOf(dialect, run))).slice(0, mostRuns);
  return (await Promise.all(unfinished.map((run) => heldUpSteps(client, dialect, run)))).flat();
}

async function heldUpSteps(client: ApiClient, dialect: Dialect, run: Stored): Promise<readonly string[]> {
  const { name } = run.metadata;
  const pods = await listRunPods(client, dialect, run);
  return viewOf(dialect, run, pods).steps.flatMap(({ id, holdUp }) =>
    holdUp === undefined ? [] : [`${name}: ${id} is held up (${holdUp.reason}: ${holdUp.message})`],
  );
}
