import { getOrAdd, parseInstant } from "#lib/base/index.ts";
import {
  type ArtifactRef,
  type FailedAttempt,
  isTerminal,
  type LogRef,
  type ObjectRef,
  type RunState,
  type RunView,
  runActions,
  stepState,
  type StepView,
  viewSteps,
} from "#engine/index.ts";
import { apiVersionOf, type KubeObject } from "#kernel/model/index.ts";
import type { Place } from "#kernel/dialect/index.ts";
import { awaitedApproval } from "./approvers.ts";
import { outlinePlan } from "./compile/outline.ts";
import { type StepSource, stepSources } from "./compile/step-source.ts";
import { holdUpOf } from "./hold-up.ts";
import { type Approval, type Reference, type StepStatus, Workflow, type WorkflowSpec } from "./kinds.ts";
import { specOf } from "./spec-of.ts";
import { artifactsIn, decodeRun } from "./state.ts";

// Browser-safe: the web interface uses it. Hence four labels of `child-names.ts` are repeated; a test compares them.
export const stepLabel = "slipway.dev/step";
export const attemptLabel = "slipway.dev/attempt";
export const itemLabel = "slipway.dev/item";
export const uidLabel = "slipway.dev/workflow-uid";

/** Of any version: views must not fail on newer objects. */
export const isWorkflow = (object: KubeObject): object is Workflow & KubeObject =>
  object.kind === Workflow.kind && object.apiVersion.startsWith(`${Workflow.group}/`);

/**
 * A workflow as a run, also if unstored or invalid: unknown parts are left out. `children` are its objects and their
 * Pods, if known; they add logs of earlier attempts and obstacles. Steps in topological order, final ones last. O(steps
 * x log steps + dependencies + children).
 */
export function viewWorkflow(object: Workflow, children: readonly KubeObject[] = []): RunView {
  const { metadata, status } = object;
  const spec = specOf(object);
  const run = decodeRun(status);
  const sources = stepSources(spec);
  const plan = outlinePlan(spec, sources);
  const sourceByKey = new Map(sources.map((source) => [source.key, source]));
  const childrenByStep = groupByStep(children);
  const steps = viewSteps(plan, run).map((view) =>
    completeStep(view, object, sourceByKey.get(view.id), childrenByStep.get(view.id) ?? [], run),
  );
  return {
    ref: { apiVersion: object.apiVersion, kind: object.kind, ...named(metadata.name ?? ""), ...placed(metadata) },
    dialect: "workflow",
    name: metadata.name ?? metadata.generateName ?? "",
    phase: run.phase,
    nativePhase: run.phase,
    number: run.number,
    createdAt: parseInstant(metadata.creationTimestamp ?? "") ?? 0,
    ...deadlineOf(spec, run),
    ...defined({ ...explainedBy(object, run), startedAt: run.startedAt, finishedAt: run.finishedAt }),
    progress: { done: steps.filter(isSettled).length, total: steps.length },
    steps,
    ...parentOf(object),
    children: steps.flatMap((step) => step.child ?? []),
    actions: metadata.deletionTimestamp === undefined ? runActions(run) : [],
  };
}

/** The reason that keeps an invalid run from going on; irrelevant once it is over. */
function explainedBy({ status }: Workflow, { phase, reason, message }: RunState) {
  const invalid = isTerminal(phase)
    ? undefined
    : status?.conditions?.find(({ type, status: is }) => type === "Invalid" && is === "True");
  return { reason: invalid?.reason ?? reason, message: invalid?.message ?? message };
}

const isSettled = ({ phase }: StepView): boolean =>
  phase === "Succeeded" || phase === "Failed" || phase === "Skipped" || phase === "Canceled";

/** Adds names, children and logs. Logs of referenced objects are not the step's. */
function completeStep(
  view: StepView,
  object: Workflow,
  source: StepSource | undefined,
  children: readonly KubeObject[],
  run: RunState,
): StepView {
  const statuses = object.status?.statuses ?? {};
  const status = Object.hasOwn(statuses, view.id) ? statuses[view.id] : undefined;
  const reference = status?.reference;
  const child = reference === undefined ? undefined : refOf(reference, object.metadata.namespace);
  const owned = source?.step.externalRef === undefined;
  const isActive = view.phase === "Starting" || view.phase === "Running";
  const holdUp = isActive
    ? holdUpOf(children.filter((one) => isPod(one) && (view.items !== undefined || attemptOf(one) === view.attempt)))
    : undefined;
  const approval = source?.step.approval;
  const earlier = earlierAttempts(view, status?.failures ?? [], children);
  return {
    ...view,
    ...(earlier.length === 0 ? {} : { earlier }),
    ...(source?.step.displayName === undefined ? {} : { name: source.step.displayName }),
    ...(child === undefined ? {} : { child }),
    ...(holdUp === undefined ? {} : { holdUp }),
    artifacts: artifactsOf(run, view.id),
    ...(approval === undefined || view.phase !== "Suspended" ? {} : { message: askedOf(view, approval) }),
    logs: !owned ? [] : view.items === undefined ? logsOf(view, child, children) : [itemLogsOf(view, object, source)],
    actions: run.finishedAt !== undefined && view.phase !== "Pending" ? ["retry"] : view.actions,
  };
}

/** A failure says when it ended; its object, while it exists, when it began. The first began with the step. */
function earlierAttempts(
  view: StepView,
  failures: NonNullable<StepStatus["failures"]>,
  children: readonly KubeObject[],
): readonly FailedAttempt[] {
  return failures
    .filter(({ attempt }) => attempt < view.attempt)
    .map(({ attempt, reason, message, finishTime }) => {
      const object = children.find((one) => attemptOf(one) === attempt && !isPodOfJob(one));
      const startedAt = attempt === 1 ? view.startedAt : parseInstant(object?.metadata.creationTimestamp ?? "");
      return { attempt, ...defined({ reason, message, startedAt, finishedAt: parseInstant(finishTime ?? "") }) };
    });
}

const artifactsOf = (run: RunState, step: string): readonly ArtifactRef[] =>
  Object.entries(artifactsIn(stepState(run, step).artifacts ?? {}))
    .map(([name, { digest, size, archive }]) => ({ name, digest, sizeBytes: size, ...defined({ archive }) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));

const askedOf = ({ message }: StepView, approval: Approval): string =>
  message === undefined ? awaitedApproval(approval) : `${message.trimEnd()} (${awaitedApproval(approval)})`;

const isPod = ({ apiVersion, kind }: KubeObject): boolean => apiVersion === "v1" && kind === "Pod";
const attemptOf = ({ metadata }: KubeObject): number => Number(metadata.labels?.[attemptLabel]);
/** Its logs are the Job's. */
const isPodOfJob = (object: KubeObject): boolean =>
  isPod(object) &&
  object.metadata.ownerReferences?.some(({ kind, controller }) => kind === "Job" && controller === true) === true;

/** One reference for all items, because a status does not list their children. */
function itemLogsOf(
  { id, attempt }: StepView,
  { apiVersion, kind, metadata }: Workflow,
  source: StepSource | undefined,
): LogRef {
  const { uid = "", name = "" } = metadata;
  const labelSelector = `${uidLabel}=${uid},${stepLabel}=${id}`;
  return {
    name: id,
    object: { apiVersion, kind, ...named(name), ...placed(metadata) },
    attempt,
    items: { labelSelector, attemptLabel, itemLabel, ...runsOf(source) },
  };
}

function runsOf(source: StepSource | undefined): {
  readonly runs?: { readonly apiVersion: string; readonly kind: string };
} {
  const { workflow, template } = source?.step ?? {};
  const own = { apiVersion: apiVersionOf(Workflow), kind: Workflow.kind };
  if (workflow !== undefined) return { runs: own };
  return template?.["kind"] === own.kind && template["apiVersion"] === own.apiVersion ? { runs: own } : {};
}

export function placeIn({ metadata }: KubeObject): Place | undefined {
  const { [stepLabel]: step, [attemptLabel]: attempt, [itemLabel]: item } = metadata.labels ?? {};
  if (step === undefined) return undefined;
  return { step, attempt: Number(attempt) || 1, ...(item === undefined ? {} : { item: Number(item) }) };
}

/** By their step label; others are ignored. */
function groupByStep(children: readonly KubeObject[]): ReadonlyMap<string, readonly KubeObject[]> {
  const groups = new Map<string, KubeObject[]>();
  for (const child of children) {
    const step = child.metadata.labels?.[stepLabel];
    if (step === undefined) continue;
    getOrAdd(groups, step, () => []).push(child);
  }
  return groups;
}

/** Every known attempt, oldest first, always with the current one. */
function logsOf(view: StepView, child: ObjectRef | undefined, children: readonly KubeObject[]): readonly LogRef[] {
  const found = new Map<number, ObjectRef>();
  for (const one of children) {
    const { apiVersion, kind, metadata } = one;
    const attempt = attemptOf(one);
    if (attempt > 0 && !isPodOfJob(one))
      found.set(attempt, { apiVersion, kind, ...named(metadata.name ?? ""), ...placed(metadata) });
  }
  if (child !== undefined && view.attempt > 0) found.set(view.attempt, found.get(view.attempt) ?? child);
  return [...found].sort(([a], [b]) => a - b).map(([attempt, object]) => ({ name: view.id, object, attempt }));
}

/** Without a namespace it is the workflow's. */
const refOf = (reference: Reference, own: string | undefined): ObjectRef => {
  const { apiVersion = "", kind = "", name = "", uid } = reference;
  const namespace = reference.namespace ?? own;
  return {
    apiVersion,
    kind,
    ...named(name),
    ...placed({ ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) }),
  };
};

const named = (name: string) => ({ name });
const placed = ({ namespace, uid }: { readonly namespace?: string; readonly uid?: string }) =>
  defined({ namespace, uid });

type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

function defined<T extends object>(members: T): Defined<T> {
  const kept: Defined<T> = { ...members };
  for (const name in kept) if (kept[name] === undefined) delete kept[name];
  return kept;
}

/** Excludes time suspended; none while a run is suspended. */
function deadlineOf(spec: WorkflowSpec, run: RunState): Pick<RunView, "deadlineAt"> {
  if (spec.activeDeadlineSeconds === undefined || run.startedAt === undefined || run.suspendedSince !== undefined)
    return {};
  return { deadlineAt: run.startedAt + spec.activeDeadlineSeconds * 1000 + run.suspendedFor };
}

function parentOf({ metadata }: Workflow): Pick<RunView, "parent"> {
  const owner = metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (owner === undefined) return {};
  const { apiVersion, kind, name, uid } = owner;
  return {
    parent: {
      apiVersion,
      kind,
      name,
      uid,
      ...placed(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    },
  };
}
