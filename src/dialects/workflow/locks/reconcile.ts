import { type Clock, formatTime, type Instant, isJsonObject, type Millis, parseInstant } from "#lib/base/index.ts";
import {
  addFinalizer,
  type ApiClient,
  ensureDeleted,
  getOrUndefined,
  type Lister,
  type Reconciler,
  type ReconcileRequest,
  type ReconcileResult,
  removeFinalizer,
} from "#kernel/kit/index.ts";
import { apiVersionOf, asJson, keyOf, type KubeObject, type Stored } from "#kernel/model/index.ts";
import { Workflow } from "../kinds.ts";
import { type Allotment, allot, limitState } from "./allot.ts";
import { type Claim, isOver } from "./claims.ts";
import { ConcurrencyLimit, type Holder, implicitLabel, limitFinalizer } from "./kind.ts";

// The only place where limits are given and taken back. It is safe under crashes and stale mirrors: A holder is added
// by a write bound to the version whose holders were counted, so there are never too many. A step starts only by a
// write bound to a version in which it still waits, by a pass that saw it hold all its limits; a holder is removed only
// after its step was seen settled in that run, which stays so, and an earlier removal would make the start's write a
// conflict. A place that was given and not used because of a crash is in the status, and the same step finds it.
// Several limits are taken in order of name, in one pass, once all are free; everyone waits in that order, so there is
// no deadlock.

export interface LimitParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly limits: Lister<ConcurrencyLimit>;
  readonly workflows: Lister<Workflow>;
  readonly claimsIn: (namespace: string) => readonly Claim[];
  readonly wake: (workflow: ReconcileRequest) => void;
  readonly waited: (time: Millis) => void;
}

/** An unwritten limit is kept this long after its last use. */
const idleFor: Millis = 600_000;

/** Removes finished holders, adds new ones, and deletes unused limits. Throws on conflicts, to be retried. */
export function limitReconciler(parts: LimitParts): Reconciler {
  return {
    async reconcile(request, { signal }): Promise<ReconcileResult | undefined> {
      const { namespace = "", name } = request;
      const claims = parts.claimsIn(namespace);
      const isWanted = claims.some(({ limits }) => limits.includes(name));
      const found = parts.limits.get(keyOf(request));
      if (found === undefined && !isWanted) return undefined;
      const limit = found ?? (await createImplicit(parts, request, claims, signal));
      const kept = await liveHolders(parts, limit, signal);
      const current = await withHolders(parts, limit, kept, signal);
      if (isWanted) await giveOut(parts, claims, current, signal);
      return await letGo(parts, parts.limits.get(keyOf(request)) ?? current, isWanted, signal);
    },
  };
}

/** One place by default; writing a limit of this name changes it. */
async function createImplicit(
  { client }: LimitParts,
  { namespace, name }: ReconcileRequest,
  claims: readonly Claim[],
  signal: AbortSignal,
): Promise<Stored<ConcurrencyLimit>> {
  const { most = 1, key } = claims.find(({ limits }) => limits.includes(name)) ?? {};
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    labels: { [implicitLabel]: "true" },
    finalizers: [limitFinalizer],
  };
  const { kind } = ConcurrencyLimit;
  const spec = { limit: most, ...(key === undefined ? {} : { description: `concurrency key ${JSON.stringify(key)}` }) };
  const object = { apiVersion: apiVersionOf(ConcurrencyLimit), kind, metadata, spec };
  return await client.create<ConcurrencyLimit>(ConcurrencyLimit, object, { signal });
}

/** Holders whose steps are not settled. A Workflow may be too new for the mirror, so the server is asked. */
async function liveHolders(
  { client, workflows }: LimitParts,
  { metadata: { namespace }, status }: Stored<ConcurrencyLimit>,
  signal: AbortSignal,
): Promise<readonly Holder[]> {
  const kept: Holder[] = [];
  for (const holder of status?.holders ?? []) {
    const place = { name: holder.name, ...(namespace === undefined ? {} : { namespace }) };
    const mirrored = workflows.get(keyOf(place));
    const workflow =
      mirrored?.metadata.uid === holder.uid
        ? mirrored
        : await getOrUndefined<Workflow>(client, { type: Workflow, ...place }, signal);
    if (workflow !== undefined && !isOver(workflow, holder)) kept.push(holder);
  }
  return kept;
}

/** A write bound to the version whose holders were counted, after the finalizer. */
async function withHolders(
  { client, clock }: LimitParts,
  limit: Stored<ConcurrencyLimit>,
  holders: readonly Holder[],
  signal: AbortSignal,
): Promise<Stored<ConcurrencyLimit>> {
  const before = limit.status?.holders ?? [];
  if (holders.length === before.length && holders.every((holder, at) => holder === before[at])) return limit;
  const held = holders.length === 0 ? limit : await addFinalizerTo(client, limit);
  const isReleased = before.some((holder) => !holders.includes(holder));
  const status = {
    ...held.status,
    holders: [...holders],
    held: holders.length,
    ...(isReleased ? { lastReleaseTime: formatTime(clock.now()) } : {}),
  };
  return await client.updateStatus<ConcurrencyLimit>(ConcurrencyLimit, { ...held, status }, { signal });
}

/** A limit being deleted accepts no finalizer, and needs none. */
const addFinalizerTo = async (client: ApiClient, limit: Stored<ConcurrencyLimit>): Promise<Stored<ConcurrencyLimit>> =>
  limit.metadata.deletionTimestamp === undefined
    ? await addFinalizer<ConcurrencyLimit>(client, ConcurrencyLimit, limit, limitFinalizer)
    : limit;

/** Gives this limit and those that go with it to the next claims, and wakes those that have everything. */
async function giveOut(
  parts: LimitParts,
  claims: readonly Claim[],
  { metadata: { namespace, name } }: Stored<ConcurrencyLimit>,
  signal: AbortSignal,
): Promise<void> {
  const keyFor = (other: string): string => keyOf({ name: other, ...(namespace === undefined ? {} : { namespace }) });
  const given = allot(claims, (other) => limitState(parts.limits.get(keyFor(other)))).filter(({ missing }) =>
    missing.includes(name),
  );
  const names = [...new Set(given.flatMap(({ missing }) => missing))].sort();
  const now = parts.clock.now();
  for (const other of names) {
    const request = { name: other, ...(namespace === undefined ? {} : { namespace }) };
    const limit = parts.limits.get(keyFor(other)) ?? (await createImplicit(parts, request, claims, signal));
    const added = given.filter(({ missing }) => missing.includes(other)).map((one) => holderOf(one, now));
    await withHolders(parts, limit, [...(limit.status?.holders ?? []), ...added], signal);
  }
  for (const { claim } of given) {
    parts.wake({ name: claim.holder.name, ...(namespace === undefined ? {} : { namespace }) });
    const since = parseInstant(claim.since ?? "");
    if (since !== undefined) parts.waited(Math.max(0, now - since));
  }
}

/** Whole seconds, for people only. */
const holderOf = ({ claim }: Allotment, now: Instant): Holder => ({ ...claim.holder, since: formatTime(now) });

async function letGo(
  { client, clock }: LimitParts,
  limit: Stored<ConcurrencyLimit>,
  isWanted: boolean,
  signal: AbortSignal,
): Promise<ReconcileResult | undefined> {
  if ((limit.status?.holders ?? []).length > 0) return undefined;
  if (limit.metadata.deletionTimestamp !== undefined) {
    await removeFinalizer<ConcurrencyLimit>(client, ConcurrencyLimit, limit, limitFinalizer);
    return undefined;
  }
  if (isWanted || !isImplicit(limit)) return undefined;
  const since = parseInstant(limit.status?.lastReleaseTime ?? limit.metadata.creationTimestamp) ?? 0;
  const left = since + idleFor - clock.now();
  if (left > 0) return { requeueAfter: left };
  const { resourceVersion } = limit.metadata;
  await ensureDeleted(client, ConcurrencyLimit, limit, { preconditions: { resourceVersion }, signal });
  return undefined;
}

/** A limit that people changed is theirs. */
function isImplicit(limit: Stored<ConcurrencyLimit>): boolean {
  const { labels, generation = 1, annotations } = limit.metadata;
  return labels?.[implicitLabel] === "true" && generation === 1 && annotations === undefined && managersOf(limit) <= 1;
}

/** Programs that wrote its fields, except the status. */
function managersOf(limit: KubeObject): number {
  const { metadata } = asJson(limit);
  const entries = isJsonObject(metadata) ? metadata["managedFields"] : undefined;
  const own = Array.isArray(entries)
    ? entries.filter(isJsonObject).filter((entry) => entry["subresource"] !== "status")
    : [];
  return new Set(own.map((entry) => entry["manager"])).size;
}
