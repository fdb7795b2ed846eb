import type { RunPhase } from "#engine/index.ts";
import { matchesLabels, parseLabelSelector } from "#kernel/kit/index.ts";
import { badRequest } from "#kernel/model/index.ts";
import type { RunPage } from "../wire.ts";
import { wholeNumber } from "./reply.ts";
import type { IndexedRun } from "./run-index.ts";

/** Which runs a list shows. Pure, so that one list serves all readers. */
export interface RunFilter {
  readonly matches: (run: IndexedRun) => boolean;
  /** Phases are counted without this one. */
  readonly hasPhase: (run: IndexedRun) => boolean;
}

/** Texts that are compared for each of ten thousand runs. */
const longestFilter = 1000;

/**
 * Reads `phase`, `dialect`, `namespace`, `label`, `text`, `source`: of one name any, of different names all. `since` is
 * the earliest creation, in milliseconds.
 */
export function readFilter(query: URLSearchParams, mayRead: (run: IndexedRun) => boolean): RunFilter {
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
  const since = wholeNumber(query, "since", { least: 0, most: Number.MAX_SAFE_INTEGER, initial: 0 });
  const isIn = (wanted: ReadonlySet<string>, value: string): boolean => wanted.size === 0 || wanted.has(value);
  return {
    hasPhase: ({ summary }) => isIn(phases, summary.phase.toLowerCase()),
    matches: (run) =>
      run.summary.createdAt >= since &&
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

const bounds = { least: 1, most: 1000, initial: 100 };

/** One page of a sorted list; the token names the last run of the page before. */
export function pageOf(
  runs: readonly IndexedRun[],
  filter: RunFilter,
  query: URLSearchParams,
): Pick<RunPage, "items" | "continue" | "counts" | "total"> {
  const limit = wholeNumber(query, "limit", bounds);
  const after = readToken(query.get("continue"));
  const counts: Partial<Record<RunPhase, number>> = {};
  const items: IndexedRun[] = [];
  let total = 0;
  let isMore = false;
  for (const run of runs) {
    if (!filter.matches(run)) continue;
    const { phase } = run.summary;
    counts[phase] = (counts[phase] ?? 0) + 1;
    if (!filter.hasPhase(run)) continue;
    total += 1;
    if (after !== undefined && !isBehind(run, after)) continue;
    if (items.length < limit) items.push(run);
    else isMore = true;
  }
  const last = items.at(-1);
  return {
    items: items.map(({ summary }) => summary),
    ...(isMore && last !== undefined ? { continue: tokenOf(last) } : {}),
    counts,
    total,
  };
}

interface Place {
  readonly createdAt: number;
  readonly key: string;
}

const tokenOf = ({ summary, key }: IndexedRun): string =>
  Buffer.from(`${summary.createdAt} ${key}`).toString("base64url");

function readToken(token: string | null): Place | undefined {
  if (token === null || token === "") return undefined;
  const [, at = "", key = ""] = /^(\d{1,15}) (.+)$/s.exec(Buffer.from(token, "base64url").toString()) ?? [];
  if (key === "") throw badRequest("continue: not a token of this list");
  return { createdAt: Number(at), key };
}

/** In the order of the list: newest first, then by key. */
const isBehind = ({ summary, key }: IndexedRun, after: Place): boolean =>
  summary.createdAt === after.createdAt ? key > after.key : summary.createdAt < after.createdAt;
