import type { RunView, StepView } from "#engine/index.ts";
import type { Dialect, RunGraph } from "#kernel/dialect/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { oneLine } from "#lib/base/index.ts";
import type { RunSummary, WaitingApproval } from "../wire.ts";

/** What lists know of a run; the object itself is not kept. */
export interface SummarizedRun {
  readonly summary: RunSummary;
  readonly labels: Readonly<Record<string, string>>;
  /** Lower case, for filters. */
  readonly text: string;
  readonly waiting: readonly Omit<WaitingApproval, "run">[];
  /** The step that runs, if any. */
  readonly current: string | undefined;
}

const longestMessage = 200;
/** Of one run, in lists. */
const mostApprovals = 100;

export function summarize({ name: dialect, runs }: Dialect, object: KubeObject): SummarizedRun {
  const view = runs.view(object, []);
  const waiting = view.steps.filter(isWaiting).slice(0, mostApprovals);
  const graph = waiting.length === 0 ? undefined : runs.graph(object);
  const source = runs.source?.(object);
  const { name, title = name, phase, nativePhase, progress, createdAt, startedAt, finishedAt, message, actions } = view;
  const summary: RunSummary = {
    ref: view.ref,
    dialect,
    name: title,
    phase,
    nativePhase,
    ...progress,
    createdAt,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(message === undefined || message === "" ? {} : { message: cut(message) }),
    ...(source === undefined ? {} : { source }),
    ...(waiting.length === 0 ? {} : { approvals: waiting.length }),
    actions,
  };
  return {
    summary,
    labels: object.metadata.labels ?? {},
    text: [name, title, summary.ref.namespace, dialect, nativePhase, source?.name, summary.message]
      .join(" ")
      .toLowerCase(),
    waiting: waiting.map((step) => ({ ...approvalOf(step, view), ...asksOf(step, graph) })),
    current: view.steps.find((step) => step.phase === "Running" || step.phase === "Starting")?.name,
  };
}

/** A step that a person can let go on. */
const isWaiting = ({ phase, actions }: StepView): boolean => phase === "Suspended" && actions.includes("approve");

function approvalOf({ id, message, startedAt }: StepView, view: RunView): Omit<WaitingApproval, "run"> {
  const since = startedAt ?? view.startedAt;
  return { step: id, message: cut(message ?? ""), ...(since === undefined ? {} : { since }) };
}

function asksOf({ id }: StepView, graph: RunGraph | undefined): Pick<WaitingApproval, "asks"> {
  const asks = graph?.nodes.find((node) => node.id === id)?.asks;
  return asks === undefined ? {} : { asks };
}

function cut(message: string): string {
  const line = oneLine(message);
  return line.length > longestMessage ? `${line.slice(0, longestMessage - 1)}…` : line;
}
