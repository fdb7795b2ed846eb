import type { StepPhase, StepView } from "#engine/index.ts";
import type { RunDetail, RunSummary } from "#app/ui/wire.ts";

/** A step of a sample: `{id, after, phase}` and whatever else differs from nothing. */
export type SampleStep = Pick<StepView, "id" | "phase"> & Partial<StepView> & { readonly after?: readonly string[] };

export interface SampleRun {
  readonly name: string;
  readonly phase: RunSummary["phase"];
  readonly steps: readonly SampleStep[];
  readonly createdAt: number;
  readonly dialect?: string;
  readonly message?: string;
  readonly source?: string;
}

const isDone = (phase: StepPhase): boolean => ["Succeeded", "Failed", "Skipped", "Canceled"].includes(phase);

function stepOf({ after = [], ...step }: SampleStep, ranks: Map<string, number>): StepView {
  const rank = Math.max(-1, ...after.map((id) => ranks.get(id) ?? 0)) + 1;
  ranks.set(step.id, rank);
  return {
    name: step.id,
    dependencies: after,
    waitingFor: step.phase === "Pending" ? after : [],
    rank,
    attempt: step.phase === "Pending" ? 0 : 1,
    attempts: 3,
    logs: [],
    artifacts: [],
    actions: step.phase === "Running" ? ["cancel"] : [],
    ...step,
  };
}

/** What the server would say of it. */
export function detailOf(run: SampleRun): RunDetail {
  const ranks = new Map<string, number>();
  const steps = run.steps.map((step) => stepOf(step, ranks));
  const done = steps.filter(({ phase }) => isDone(phase)).length;
  const { dialect = "workflow", name, phase, createdAt, message, source } = run;
  const isOver = isDone(phase);
  const times = { startedAt: createdAt + 400, ...(isOver ? { finishedAt: createdAt + 95_000 } : {}) };
  const ref = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", namespace: "default", name };
  const actions = isOver ? (["retry"] as const) : (["cancel", "suspend"] as const);
  const common = {
    ref,
    dialect,
    name,
    phase,
    nativePhase: phase,
    createdAt,
    ...times,
    ...(message === undefined ? {} : { message }),
  };
  const approvals = steps.filter((step) => step.phase === "Suspended").length;
  return {
    summary: {
      ...common,
      done,
      total: steps.length,
      actions,
      ...(approvals === 0 ? {} : { approvals }),
      ...(source === undefined ? {} : { source: { kind: "WorkflowTemplate", name: source } }),
    },
    view: { ...common, progress: { done, total: steps.length }, steps, children: [], actions },
    graph: {
      name,
      nodes: steps.map(({ id, name, rank, phase }) => ({ id, name, final: false, rank, phase })),
      edges: steps.flatMap((step) => step.dependencies.map((from) => ({ from, to: step.id }))),
    },
    description: `Name:  ${name}\nPhase: ${phase}\n`,
    canRunAgain: false,
    resourceVersion: "1",
  };
}

/** One run for each thing that a page has to show, the newest first. */
export function sampleRuns(now: number): readonly SampleRun[] {
  const at = (minutes: number): number => now - minutes * 60_000;
  return [
    {
      name: "release-42",
      phase: "Running",
      createdAt: at(2),
      source: "release",
      steps: [
        { id: "fetch", phase: "Succeeded", startedAt: at(2), finishedAt: at(1.8) },
        { id: "compile", phase: "Succeeded", after: ["fetch"], startedAt: at(1.8), finishedAt: at(1) },
        { id: "unit", phase: "Running", after: ["compile"], startedAt: at(1), attempt: 2 },
        { id: "lint", phase: "Starting", after: ["fetch"] },
        { id: "scan", phase: "Waiting", after: ["fetch"], reason: "Lock", message: "waits for lock scanner" },
        { id: "image", phase: "Pending", after: ["unit", "lint"] },
        { id: "approve", phase: "Pending", after: ["image", "scan"] },
        { id: "deploy", phase: "Pending", after: ["approve"] },
      ],
    },
    {
      name: "nightly-7",
      phase: "Suspended",
      createdAt: at(30),
      source: "nightly",
      steps: [
        { id: "backup", phase: "Succeeded", startedAt: at(30), finishedAt: at(28) },
        {
          id: "approve",
          phase: "Suspended",
          after: ["backup"],
          startedAt: at(28),
          message: "Restart the database?",
          actions: ["approve", "reject"],
        },
        { id: "restart", phase: "Pending", after: ["approve"] },
      ],
    },
    {
      name: "release-41",
      phase: "Failed",
      createdAt: at(90),
      source: "release",
      message: "step compile failed: exit code 2",
      steps: [
        { id: "fetch", phase: "Succeeded", startedAt: at(90), finishedAt: at(89.5) },
        {
          id: "compile",
          phase: "Failed",
          after: ["fetch"],
          startedAt: at(89.5),
          finishedAt: at(88.5),
          reason: "ExitCode",
          message: "exit code 2: undefined symbol main",
          attempt: 3,
        },
        { id: "unit", phase: "Skipped", after: ["compile"], reason: "DependencyFailed" },
        { id: "lint", phase: "Canceled", after: ["fetch"] },
      ],
    },
    {
      name: "machine-rack3-04",
      phase: "Cancelling",
      createdAt: at(200),
      dialect: "tinkerbell",
      steps: [
        { id: "wipe", phase: "Succeeded", startedAt: at(200), finishedAt: at(190) },
        { id: "install", phase: "Cancelling", after: ["wipe"], startedAt: at(190) },
      ],
    },
    {
      name: "shop",
      phase: "Succeeded",
      createdAt: at(1500),
      dialect: "vela",
      steps: [{ id: "apply", phase: "Succeeded", startedAt: at(1500), finishedAt: at(1499) }],
    },
  ];
}
