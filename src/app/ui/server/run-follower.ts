import type { StepView } from "#engine/index.ts";
import { Informer } from "#kernel/kit/index.ts";
import { Pod } from "#kernel/model/index.ts";
import { aborted, type Millis, silentLog } from "#lib/base/index.ts";
import { podScopeOf } from "#app/runs/index.ts";
import type { RunChange, RunDetail } from "../wire.ts";
import { Coalescer } from "./coalescer.ts";
import { type Following, updatesMs } from "./following.ts";
import { detailOf, findRun, type RunName, type RunSurroundings, surroundingsOf } from "./run-detail.ts";

/** What surrounds a run takes several lists. */
const surroundingsMs: Millis = 1000;

export const runNameIn = (params: Readonly<Record<string, string>>): RunName => ({
  dialect: params["dialect"] ?? "",
  namespace: params["namespace"] ?? "default",
  name: params["name"] ?? "",
  kind: params["kind"],
});

/** ADDED with the whole run, then MODIFIED with what has changed, and DELETED at its end. */
export async function followRun(following: Following): Promise<void> {
  const { context, caller, subscription, emit, signal } = following;
  const { client } = caller;
  const { clock, dialects } = context;
  const name = runNameIn(subscription.params);
  const first = await findRun(client, dialects, name, signal);
  const { apiVersion, kind, metadata } = first.object;
  const type = await client.resourceType(apiVersion, kind);
  if (type === undefined) return;
  const { namespace, name: called } = metadata;
  const place = namespace === undefined ? {} : { namespace };
  const stop = new AbortController();
  const until = AbortSignal.any([signal, stop.signal]);
  const scope = { ...place, fieldSelector: `metadata.name=${called}` };
  const informer = new Informer({ client, type, scope, clock, log: silentLog, random: () => 0.5 });
  let isSynced = false;
  let last: RunDetail | undefined;
  let known: { readonly at: Millis; readonly surroundings: RunSurroundings } | undefined;
  let isBusy = false;
  const look = async (): Promise<void> => {
    const [object] = informer.list();
    if (object === undefined) {
      if (isSynced) emit({ type: "DELETED", ...(last === undefined ? {} : { object: last.summary }) });
      if (isSynced) stop.abort();
      return;
    }
    const run = { dialect: first.dialect, object };
    const age = known === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - known.at;
    if (known === undefined || age >= surroundingsMs)
      known = { at: clock.monotonic(), surroundings: await surroundingsOf(client, run) };
    else later.put("", true);
    const detail = detailOf(run, known.surroundings, clock.now());
    const rv = detail.resourceVersion;
    if (last === undefined) emit({ type: "ADDED", object: detail, rv });
    else if (hasChanged(last, detail)) emit({ type: "MODIFIED", object: changeOf(last, detail), rv });
    last = detail;
  };
  const changes = new Coalescer<true>(clock, updatesMs, () => {
    if (isBusy) return changes.put("", true);
    isBusy = true;
    look()
      .catch((thrown: unknown) => context.log.debug("run cannot be followed", { error: String(thrown) }))
      .finally(() => (isBusy = false));
  });
  const later = new Coalescer<true>(clock, surroundingsMs, () => changes.put("", true));
  const changed = (): void => changes.put("", true);
  const handler = { add: changed, update: changed, delete: changed };
  informer.addHandler(handler);
  informer.run(until).catch(() => undefined);
  const pods = podScopeOf(first.dialect, first.object);
  if (pods !== undefined) {
    const mirror = new Informer({ client, type: Pod, scope: pods, clock, log: silentLog, random: () => 0.5 });
    mirror.addHandler(handler);
    mirror.run(until).catch(() => undefined);
  }
  await informer.synced(until).catch(() => undefined);
  isSynced = true;
  changed();
  await aborted(until);
  changes.close();
  later.close();
}

const hasChanged = (a: RunDetail, b: RunDetail): boolean =>
  JSON.stringify([a.summary, a.view]) !== JSON.stringify([b.summary, b.view]);

/** Everything but the steps that are as they were. */
export function changeOf(before: RunDetail, now: RunDetail): RunChange {
  const { steps, ...view } = now.view;
  const texts = new Map(before.view.steps.map((step) => [step.id, JSON.stringify(step)]));
  const isNew = (step: StepView): boolean => texts.get(step.id) !== JSON.stringify(step);
  const isOther = idsOf(before) !== idsOf(now);
  return {
    summary: now.summary,
    view,
    steps: steps.filter(isNew),
    ...(isOther ? { order: steps.map(({ id }) => id), graph: now.graph } : {}),
    description: now.description,
    resourceVersion: now.resourceVersion,
  };
}

const idsOf = ({ view }: RunDetail): string => JSON.stringify(view.steps.map(({ id }) => id));
