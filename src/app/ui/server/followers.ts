import type { PageCaller } from "#kernel/apiserver/index.ts";
import { Informer } from "#kernel/kit/index.ts";
import { badRequest, expired, type ResourceType } from "#kernel/model/index.ts";
import { aborted, type Millis, silentLog, toError } from "#lib/base/index.ts";
import type { Subscription } from "../wire.ts";
import { Coalescer } from "./coalescer.ts";
import { agentKind, agentVersion, listAgents, readableBy } from "./context.ts";
import { type Following, type Line, updatesMs } from "./following.ts";
import { approvalsOf, fleetOf } from "./lists.ts";
import { followLog } from "./log-follower.ts";
import { followRun } from "./run-follower.ts";
import type { IndexedRun } from "./run-index.ts";
import { countRuns, readFilter } from "./run-query.ts";

/** Follows until the signal aborts or there is nothing more. Rejects with what the caller is told. */
type Follower = (following: Following) => Promise<void>;

/** Counts and lists take a pass over all runs. */
const listsMs: Millis = 1000;
/** How soon a run is seen that has become longer than a filter says. */
const timedMs: Millis = 5000;

/** Changed summaries, and now and then the counts. Without a version it begins with the next change. */
const runs: Follower = async ({ context, caller, subscription, emit, signal }) => {
  const index = await context.index();
  const query = new URLSearchParams(subscription.params);
  // Rights may change while the stream is open.
  const mayRead = (run: IndexedRun): boolean => readableBy(caller)(run);
  const filter = readFilter(query, mayRead, context.clock);
  const isShown = (run: IndexedRun): boolean => filter.matches(run) && filter.hasPhase(run);
  const missed = subscription.resourceVersion === undefined ? [] : index.since(subscription.resourceVersion);
  if (missed === undefined) throw expired("the list is too old to be continued");
  const shown = new Set(
    index
      .list()
      .filter(isShown)
      .map(({ key }) => key),
  );
  const lines = new Coalescer<Line>(context.clock, updatesMs, (items) => {
    for (const line of items) emit({ ...line, rv: index.version });
  });
  const counts = new Coalescer<true>(context.clock, listsMs, () => {
    emit({ type: "BOOKMARK", object: countRuns(index.list(), filter), rv: index.version });
  });
  const tell = (run: IndexedRun, isDeleted: boolean, wasShown: boolean): void => {
    const isNow = !isDeleted && isShown(run);
    if (isNow) shown.add(run.key);
    else shown.delete(run.key);
    if (isNow || wasShown)
      lines.put(run.key, { type: !isNow ? "DELETED" : wasShown ? "MODIFIED" : "ADDED", object: run.summary }, merged);
    counts.put("", true);
  };
  for (const { run, isDeleted } of missed) tell(run, isDeleted, true);
  counts.put("", true);
  const leave = index.subscribe((run, isDeleted) => tell(run, isDeleted, shown.has(run.key)));
  // Runs that the clock alone brings in or takes out.
  const look = (): void => {
    for (const run of index.list()) if (isShown(run) !== shown.has(run.key)) tell(run, false, shown.has(run.key));
    cancel = context.clock.after(timedMs, look);
  };
  let cancel = filter.isTimed ? context.clock.after(timedMs, look) : (): void => undefined;
  await aborted(signal);
  cancel();
  leave();
  lines.close();
  counts.close();
};

/** One that came and changed has come. */
const merged = (waiting: Line, newer: Line): Line =>
  waiting.type === "ADDED" && newer.type === "MODIFIED" ? { ...newer, type: "ADDED" } : newer;

/**
 * A short list that is made anew whenever it may have changed: first a BOOKMARK with all items, then what changes.
 * `watch` tells of changes besides those of runs.
 */
const keyedList =
  <T>(
    make: (following: Following) => Promise<readonly T[]>,
    keyOf: (item: T) => string,
    watch: (following: Following, changed: () => void) => Promise<void> = async () => undefined,
  ): Follower =>
  async (following) => {
    const { context, emit, signal } = following;
    const index = await context.index();
    let known: ReadonlyMap<string, { readonly text: string; readonly item: T }> | undefined;
    const look = async (): Promise<void> => {
      const items = await make(following);
      const next = new Map(items.map((item) => [keyOf(item), { text: JSON.stringify(item), item }] as const));
      if (known === undefined) emit({ type: "BOOKMARK", object: items });
      for (const [key, { item }] of known ?? []) if (!next.has(key)) emit({ type: "DELETED", object: item });
      for (const [key, { text, item }] of known === undefined ? [] : next) {
        const before = known?.get(key);
        if (before?.text !== text) emit({ type: before === undefined ? "ADDED" : "MODIFIED", object: item });
      }
      known = next;
    };
    const updates = new Coalescer<true>(context.clock, listsMs, () => {
      if (isBusy) return updates.put("", true);
      isBusy = true;
      look()
        .catch((thrown: unknown) => context.log.debug("list of a stream failed", { error: toError(thrown) }))
        .finally(() => (isBusy = false));
    });
    let isBusy = false;
    const changed = (): void => updates.put("", true);
    changed();
    const leave = index.subscribe(changed);
    await watch(following, changed);
    await aborted(signal);
    leave();
    updates.close();
  };

const approvals = keyedList(
  async ({ context, caller }) => approvalsOf((await context.index()).list().filter(readableBy(caller))),
  ({ run: { ref }, step }) => JSON.stringify([ref.kind, ref.namespace, ref.name, step]),
);

const fleet = keyedList(
  async ({ context: { index, dialects }, caller }) =>
    fleetOf(
      (await index()).list().filter(readableBy(caller)),
      await listAgents(caller),
      (name) => dialects.find((one) => one.name === name)?.runs.areMachines === true,
    ),
  ({ ref, kind: what }) => JSON.stringify([what, ref.namespace, ref.name]),
  async ({ context: { clock }, caller: { client }, signal }, changed) => {
    const type = await client.resourceType(agentVersion, agentKind);
    if (type === undefined) return;
    const agents = new Informer({ client, type, scope: {}, clock, log: silentLog, random: () => 0.5 });
    agents.addHandler({ add: changed, update: changed, delete: changed });
    agents.run(signal).catch(() => undefined);
  },
);

/** Objects of any kind, as a watch of the caller. */
const kind: Follower = async ({ context, caller, subscription, emit, signal }) => {
  const { params, resourceVersion } = subscription;
  const type = await kindOf(caller, params);
  const lines = new Coalescer<Line>(context.clock, updatesMs, (items) => items.forEach(emit));
  const options = {
    ...(params["namespace"] === undefined ? {} : { namespace: params["namespace"] }),
    ...(params["label"] === undefined ? {} : { labelSelector: params["label"] }),
    ...(params["field"] === undefined ? {} : { fieldSelector: params["field"] }),
    allowBookmarks: true,
  };
  try {
    let from = resourceVersion;
    while (!signal.aborted) {
      const start = from === undefined ? {} : { resourceVersion: from };
      for await (const event of caller.client.watch(type, { ...options, ...start, signal })) {
        const { namespace = "", name = "", resourceVersion: rv = "" } = event.object.metadata;
        from = rv;
        const object = event.type === "BOOKMARK" ? {} : { object: event.object };
        lines.put(`${namespace}/${name}`, { type: event.type, ...object, rv }, merged);
      }
    }
  } finally {
    lines.close();
  }
};

async function kindOf({ client }: PageCaller, params: Readonly<Record<string, string>>): Promise<ResourceType> {
  const { group = "", resource = "", version } = params;
  const found = (await client.resourceTypes()).find(
    (type) => type.group === group && type.plural === resource && (version === undefined || type.version === version),
  );
  if (found === undefined) throw badRequest(`the server serves no ${resource}${group === "" ? "" : `.${group}`}`);
  return found;
}

export const followers: Readonly<Record<Subscription["what"], Follower>> = {
  runs,
  run: followRun,
  kind,
  log: followLog,
  approvals,
  fleet,
};
