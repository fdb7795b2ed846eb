import type { Dialect, Place } from "#kernel/dialect/index.ts";
import { inParallel } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { Pod, type Stored } from "#kernel/model/index.ts";
import { compareAges, containersOf, logName, ownLog, type StepLog } from "./pod-logs.ts";
import { podScopeOf } from "./run-pods.ts";
import { isRunOf, viewOf } from "./run.ts";

/** Bounds a recursion of runs without end. */
const deepest = 10;
/** Requests at a time; a fan-out may have ten thousand runs. */
const width = 8;

/** A run that a step has created, and the name of that step's log. */
export interface InnerRun {
  readonly object: Stored;
  readonly dialect: Dialect;
  readonly name: string;
}

/**
 * The logs of a run inside a run, at all depths, in the order of steps, items and attempts. Sends two requests for each
 * run. Objects without labels of a run, such as an applied Job, are not found.
 */
export async function innerLogs(client: ApiClient, run: InnerRun, depth = 1): Promise<readonly StepLog[]> {
  const { object, dialect, name } = run;
  if (dialect.runs.logs !== undefined) return await ownLogs(client, run);
  const scope = podScopeOf(dialect, object);
  if (scope === undefined) return [];
  const type = depth < deepest ? await client.resourceType(object.apiVersion, object.kind) : undefined;
  const lists = await Promise.all([client.list(Pod, scope), ...(type === undefined ? [] : [client.list(type, scope)])]);
  const { steps } = viewOf(dialect, object);
  const places = new Map(steps.map(({ id }, index) => [id, index]));
  const phases = new Map(steps.map(({ id, phase }) => [id, phase]));
  const parts = lists
    .flatMap(({ items }) => items)
    .flatMap((part) => {
      const place = dialect.runs.pods?.placeOf(part);
      return place === undefined || !places.has(place.step) ? [] : [{ part, place }];
    })
    .sort((a, b) => comparePlaces(a.place, b.place, places) || compareAges(a.part, b.part));
  const logs: (readonly StepLog[])[] = parts.map(() => []);
  await inParallel(
    [...parts.entries()],
    async ([index, { part, place }]) => {
      const of = { ...place, step: `${name}/${place.step}`, inner: { isFailed: phases.get(place.step) === "Failed" } };
      logs[index] = isRunOf(dialect, part)
        ? await innerLogs(client, { object: part, dialect, name: logName(of) }, depth + 1)
        : containersOf(part, of);
    },
    width,
  );
  return logs.flat();
}

async function ownLogs(client: ApiClient, { object, dialect, name }: InnerRun): Promise<readonly StepLog[]> {
  const type = await client.resourceType(object.apiVersion, object.kind);
  if (type === undefined) return [];
  return viewOf(dialect, object).steps.flatMap(({ id, phase, logs }) =>
    logs.map((log) => ownLog(type, { step: `${name}/${id}`, inner: { isFailed: phase === "Failed" } }, log)),
  );
}

const comparePlaces = (a: Place, b: Place, order: ReadonlyMap<string, number>): number =>
  (order.get(a.step) ?? 0) - (order.get(b.step) ?? 0) || (a.item ?? 0) - (b.item ?? 0) || a.attempt - b.attempt;
