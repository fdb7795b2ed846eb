import type { Dialect, Place } from "#kernel/dialect/index.ts";
import { inParallel } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { Pod, type Stored } from "#kernel/model/index.ts";
import { compareAges, containersOf, logName, ownLog, type StepLog } from "./pod-logs.ts";
import { podScopeOf } from "./run-pods.ts";
import { isRunOf, viewOf } from "./runs.ts";

/** As deep as runs create runs; what goes on below, in a recursion without end, is not looked for. */
const deepest = 10;
/** A fan-out may have ten thousand runs: so many are asked about at a time. */
const width = 8;

/** A run that a step of another one has created, and what the log of that step is called. */
export interface InnerRun {
  readonly object: Stored;
  readonly dialect: Dialect;
  readonly name: string;
}

/**
 * What writes in a run inside of a run, and in the runs inside of that: in the order of its steps, items and attempts. Two requests
 * for every run, however many steps it has. What bears no labels of a run, such as a Job that was applied, is not found.
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

/** Of a run that keeps its logs itself. */
async function ownLogs(client: ApiClient, { object, dialect, name }: InnerRun): Promise<readonly StepLog[]> {
  const type = await client.resourceType(object.apiVersion, object.kind);
  if (type === undefined) return [];
  return viewOf(dialect, object).steps.flatMap(({ id, phase, logs }) =>
    logs.map((log) => ownLog(type, { step: `${name}/${id}`, inner: { isFailed: phase === "Failed" } }, log)),
  );
}

/** Steps in their order, then items, then attempts. */
const comparePlaces = (a: Place, b: Place, order: ReadonlyMap<string, number>): number =>
  (order.get(a.step) ?? 0) - (order.get(b.step) ?? 0) || (a.item ?? 0) - (b.item ?? 0) || a.attempt - b.attempt;
