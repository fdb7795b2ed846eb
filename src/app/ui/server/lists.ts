import type { KubeObject } from "#kernel/model/index.ts";
import { asJson, keyOf } from "#kernel/model/index.ts";
import { isTrueAt, parseInstant, textAt } from "#lib/base/index.ts";
import { medianOf } from "../grid-steps.ts";
import type { FleetEntry, RunSummary, SourceSummary, WaitingApproval } from "../wire.ts";
import type { IndexedRun } from "./run-index.ts";

// Lists made of summaries, newest first. All are bounded: a page shows no more.

const mostSources = 500;
const runsOfSource = 30;
const mostWaiting = 1000;
const mostMachines = 5000;

/** Sources in the order of their newest runs. Numbers are of the runs shown. */
export function sourcesOf(runs: readonly IndexedRun[]): readonly SourceSummary[] {
  const bySource = new Map<string, IndexedRun[]>();
  for (const run of runs) {
    const { source, dialect } = run.summary;
    if (source === undefined) continue;
    const key = [dialect, run.namespace, source.kind, source.name].join("\n");
    const found = bySource.get(key) ?? [];
    if (found.length === 0 && bySource.size >= mostSources) continue;
    bySource.set(key, found);
    if (found.length < runsOfSource) found.push(run);
  }
  return [...bySource.values()].flatMap((found) => summaryOfSource(found) ?? []);
}

/** Of runs of one source, the newest first; undefined if there are none. */
export function summaryOfSource(runs: readonly IndexedRun[]): SourceSummary | undefined {
  const [newest] = runs;
  if (newest?.summary.source === undefined) return undefined;
  const summaries = runs.map(({ summary }) => summary);
  const ended = summaries.filter(({ finishedAt }) => finishedAt !== undefined);
  const median = medianOf(ended.flatMap(durationOf));
  const succeeded = ended.filter(({ phase }) => phase === "Succeeded").length;
  return {
    dialect: newest.summary.dialect,
    group: newest.type.group,
    namespace: newest.namespace,
    ...newest.summary.source,
    runs: summaries.map(({ ref, phase, createdAt, startedAt, finishedAt }) => ({
      name: ref.name,
      phase,
      createdAt,
      ...(startedAt === undefined ? {} : { startedAt }),
      ...(finishedAt === undefined ? {} : { finishedAt }),
    })),
    ...(median === undefined ? {} : { medianMs: median }),
    ...(ended.length === 0 ? {} : { successRate: succeeded / ended.length }),
  };
}

const durationOf = ({ startedAt, finishedAt }: RunSummary): readonly number[] =>
  startedAt === undefined || finishedAt === undefined ? [] : [finishedAt - startedAt];

export function approvalsOf(runs: readonly IndexedRun[]): readonly WaitingApproval[] {
  const all = runs.flatMap(({ summary, waiting }) => waiting.map((one) => ({ run: summary, ...one })));
  return all.slice(0, mostWaiting);
}

/** Machines are runs of dialects that say so; agents are objects, and name the run that they have. */
export function fleetOf(
  runs: readonly IndexedRun[],
  agents: readonly KubeObject[],
  hasMachines: (dialect: string) => boolean,
): readonly FleetEntry[] {
  const byPlace = new Map(runs.map((run) => [`${run.namespace}/${run.summary.ref.name}`, run.summary]));
  const machines = runs.filter(({ summary }) => hasMachines(summary.dialect)).map(machineOf);
  return [...machines, ...agents.map((agent) => agentOf(agent, byPlace))].slice(0, mostMachines);
}

const machineOf = ({ summary, current }: IndexedRun): FleetEntry => ({
  ref: summary.ref,
  kind: "machine",
  dialect: summary.dialect,
  name: summary.name,
  state: summary.nativePhase,
  ...(current === undefined ? {} : { task: current }),
  run: summary.ref,
});

function agentOf(object: KubeObject, byPlace: ReadonlyMap<string, RunSummary>): FleetEntry {
  const { metadata, apiVersion, kind } = object;
  const agent = asJson(object);
  const current = textAt(agent, "status", "currentWorkflow");
  const run = current === undefined ? undefined : byPlace.get(current);
  const lastSeen = parseInstant(textAt(agent, "status", "lastSeen") ?? "");
  return {
    ref: { apiVersion, kind, name: metadata.name ?? "" },
    kind: "agent",
    dialect: run?.dialect ?? "",
    name: textAt(agent, "spec", "agentID") ?? keyOf(metadata),
    state: isTrueAt(agent, "status", "connected") ? "connected" : "away",
    ...(current === undefined ? {} : { task: current }),
    ...(lastSeen === undefined ? {} : { lastSeen }),
    ...(run === undefined ? {} : { run: run.ref }),
  };
}
