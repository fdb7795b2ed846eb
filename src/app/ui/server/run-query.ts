import type { RunPhase } from "#engine/index.ts";
import { matchesLabels, parseLabelSelector } from "#kernel/kit/index.ts";
import { badRequest } from "#kernel/model/index.ts";
import type { Clock, Instant, Millis } from "#lib/base/index.ts";
import { runPhases } from "../run-phases.ts";
import type { RunPage, RunsBookmark, RunSummary } from "../wire.ts";
import { wholeNumber } from "./reply.ts";
import type { IndexedRun } from "./run-index.ts";

/** Which runs a list shows. Pure, so that one list serves all readers. */
export interface RunFilter {
  readonly matches: (run: IndexedRun) => boolean;
  /** Phases are counted without this one. */
  readonly hasPhase: (run: IndexedRun) => boolean;
  /** Runs match, or stop matching, as time passes. */
  readonly isTimed: boolean;
}

/** Texts that are compared for each of ten thousand runs. */
const longestFilter = 1000;

/**
 * Reads `phase`, `dialect`, `namespace`, `label`, `text`, `source`: of one name any, of different names all. `since` is
 * the earliest creation; `longer` and `shorter` bound the duration, so far for a run that has not ended. Milliseconds.
 */
export function readFilter(
  query: URLSearchParams,
  mayRead: (run: IndexedRun) => boolean,
  clock: Pick<Clock, "now">,
): RunFilter {
  for (const [name, value] of query)
    if (value.length > longestFilter) throw badRequest(`${name}: expected at most ${longestFilter} characters`);
  const [phases, dialects, namespaces, sources] = [
    valuesOf(query, "phase", true),
    valuesOf(query, "dialect", true),
    valuesOf(query, "namespace"),
    valuesOf(query, "source"),
  ];
  const labels = parseLabelSelector(query.getAll("label").join(","));
  if (!labels.ok) throw badRequest(`label: ${labels.error}`);
  const words = (query.get("text") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const millis = (name: string, initial: number): number =>
    wholeNumber(query, name, { least: 0, most: Number.MAX_SAFE_INTEGER, initial });
  const since = millis("since", 0);
  const [longer, shorter] = [millis("longer", -1), millis("shorter", Number.POSITIVE_INFINITY)];
  const isTimed = query.has("longer") || query.has("shorter");
  const hasDuration = ({ summary }: IndexedRun): boolean => {
    const ms = durationOf(summary, clock.now());
    return ms !== undefined && ms > longer && ms < shorter;
  };
  const isIn = (wanted: ReadonlySet<string>, value: string): boolean => wanted.size === 0 || wanted.has(value);
  return {
    isTimed,
    hasPhase: ({ summary }) => isIn(phases, summary.phase.toLowerCase()),
    matches: (run) =>
      run.summary.createdAt >= since &&
      (!isTimed || hasDuration(run)) &&
      isIn(dialects, run.summary.dialect.toLowerCase()) &&
      isIn(namespaces, run.namespace) &&
      (sources.size === 0 || sources.has(run.summary.source?.name ?? "") || sources.has(sourceText(run))) &&
      matchesLabels(labels.value, run.labels) &&
      words.every((word) => run.text.includes(word)) &&
      mayRead(run),
  };
}

const sourceText = ({ summary: { source } }: IndexedRun): string =>
  source === undefined ? "" : `${source.kind}/${source.name}`;

/** Given several times or separated by commas. */
const valuesOf = (query: URLSearchParams, name: string, isWord = false): ReadonlySet<string> =>
  new Set(
    query
      .getAll(name)
      .flatMap((text) => text.split(","))
      .filter(Boolean)
      .map((text) => (isWord ? text.toLowerCase() : text)),
  );

/** So far, of a run that has not ended; undefined before it starts. */
const durationOf = ({ startedAt, finishedAt }: RunSummary, now: Instant): Millis | undefined =>
  startedAt === undefined ? undefined : (finishedAt ?? now) - startedAt;

/** How many runs of each phase match. */
export const countRuns = (runs: readonly IndexedRun[], filter: RunFilter): RunsBookmark =>
  tally(runs.filter(filter.matches), filter);

function tally(matching: readonly IndexedRun[], { hasPhase }: RunFilter): RunsBookmark {
  const counts: Partial<Record<RunPhase, number>> = {};
  for (const { summary } of matching) counts[summary.phase] = (counts[summary.phase] ?? 0) + 1;
  return { counts, total: matching.filter(hasPhase).length };
}

const bounds = { least: 1, most: 1000, initial: 100 };

/** One page of the runs, which come by age, in the order of the query. The token names the last run before. */
export function pageOf(
  runs: readonly IndexedRun[],
  filter: RunFilter,
  query: URLSearchParams,
  now: Instant,
): Pick<RunPage, "items" | "continue" | "counts" | "total"> {
  const limit = wholeNumber(query, "limit", bounds);
  const sort = query.get("sort") || "age";
  const after = readToken(query.get("continue"), sort);
  // Durations of all pages are of one instant, so that no run is on two of them.
  const at = after?.at ?? now;
  const valueOf = Object.hasOwn(values, sort.replace(/^-/, "")) ? values[sort.replace(/^-/, "")] : undefined;
  if (valueOf === undefined)
    throw badRequest(`sort: expected ${Object.keys(values).join(", ")}, or one after a minus sign`);
  const compare = inOrder(sort.startsWith("-") ? -1 : 1);
  const matching = runs.filter(filter.matches);
  const places = matching
    .filter(filter.hasPhase)
    .map((run): Place => ({ value: valueOf(run, at), createdAt: run.summary.createdAt, key: run.key, run }));
  if (sort !== "age") places.sort(compare);
  const rest = after === undefined ? places : places.filter((place) => compare(place, after) > 0);
  const last = rest.length > limit ? rest[limit - 1] : undefined;
  return {
    items: rest.slice(0, limit).flatMap(({ run }) => run?.summary ?? []),
    ...(last === undefined ? {} : { continue: tokenOf(last, sort, at) }),
    ...tally(matching, filter),
  };
}

interface Place {
  readonly value: number | string;
  readonly createdAt: Instant;
  readonly key: string;
  readonly run?: IndexedRun;
}

/** What `sort` names. Runs that have not started are the shortest. */
const values: Readonly<Record<string, (run: IndexedRun, now: Instant) => number | string>> = {
  age: ({ summary }) => -summary.createdAt,
  duration: ({ summary }, now) => durationOf(summary, now) ?? -1,
  name: ({ summary }) => summary.name.toLowerCase(),
  phase: ({ summary }) => runPhases.indexOf(summary.phase),
};

/** Of equal runs the newest is first, and then that of the first key, as in the index. */
const inOrder =
  (direction: 1 | -1) =>
  (a: Place, b: Place): number =>
    direction * order(a.value, b.value) || b.createdAt - a.createdAt || order(a.key, b.key);

const order = (a: number | string, b: number | string): number => (a < b ? -1 : a > b ? 1 : 0);

const tokenOf = ({ value, createdAt, key }: Place, sort: string, at: Instant): string =>
  Buffer.from(JSON.stringify([sort, at, value, createdAt, key])).toString("base64url");

function readToken(token: string | null, sort: string): (Place & { readonly at: Instant }) | undefined {
  if (token === null || token === "") return undefined;
  const [of, at, value, createdAt, key] = listIn(Buffer.from(token, "base64url").toString());
  const isValue = typeof value === "number" || typeof value === "string";
  if (of !== sort || typeof at !== "number" || !isValue || typeof createdAt !== "number" || typeof key !== "string")
    throw badRequest("continue: not a token of this list");
  return { at, value, createdAt, key };
}

function listIn(text: string): readonly unknown[] {
  try {
    const found: unknown = JSON.parse(text);
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}
