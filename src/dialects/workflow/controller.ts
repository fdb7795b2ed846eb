import { type Millis, messageOf } from "#lib/base/index.ts";
import { controllerFor, type EventRecorder, type Manager, regardingOf, requestChannel } from "#kernel/kit/index.ts";
import { Job, keyOf, Pod, splitKey, type Stored, isForbidden, isNotFound } from "#kernel/model/index.ts";
import { CacheEntry } from "./cache/kind.ts";
import { cacheUpkeep } from "./cache/upkeep.ts";
import { Workflow, isFinished, WorkflowTemplate } from "./kinds.ts";
import { RunAction, targetIn, targetIndex, targetKeys } from "#kernel/dialect/index.ts";
import { addLimitController, claimsIn } from "./locks/controller.ts";
import { ConcurrencyLimit } from "./locks/kind.ts";
import type { Notice } from "./messages.ts";
import { countWorkflows, tallyIn } from "./metrics.ts";
import { addNotifier } from "./notify/controller.ts";
import { workflowReconciler } from "./reconcile.ts";
import { Memories } from "./reconcile/memory.ts";
import { addScheduleController } from "./schedule/controller.ts";
import { SharedSlots } from "./shared-slots.ts";
import type { StepClients } from "./steps/child.ts";
import type { Executors } from "./steps/executor.ts";
import { referenceExecutor } from "./steps/external-ref.ts";
import { jobExecutor } from "./steps/job.ts";
import { type FindMirror, type Refer, templateExecutor } from "./steps/template.ts";
import { workflowExecutor } from "./steps/workflow.ts";
import { WatchedKinds } from "./watched-kinds.ts";
import type { Parts } from "./reconcile/pass.ts";

export interface WorkflowControllerOptions {
  /** Replaced by benchmarks and tests. */
  readonly executors?: Partial<Executors>;
  readonly recorder?: EventRecorder;
  /** A safety net; 10 minutes by default. */
  readonly resyncEvery?: Millis;
}

/** Enough for every step of a thousand and the run's end. */
const eventBudget = { perSecond: 10, burst: 3_000 };

const always = "";

/**
 * Adds the controllers of workflows, limits and schedules to a manager that has not started. A workflow is reconciled
 * when it or a related object changes (except by this process's own writes), when it gets a lock, when a timer is due,
 * and every ten minutes; one pass of it at a time, 256 workflows in parallel.
 */
export function addWorkflowControllers(manager: Manager, options: WorkflowControllerOptions = {}): void {
  const { client, clock } = manager;
  const memories = new Memories();
  const news = requestChannel();
  const kinds = new WatchedKinds(manager, (key) => {
    if (key !== always) news.send(splitKey(key));
  });
  const jobs = kinds.acquire(Job, always);
  const workflows = manager.mirror<Workflow>(Workflow);
  const actions = manager.mirror<RunAction>(RunAction);
  const cacheEntries = manager.mirror<CacheEntry>(CacheEntry);
  actions.addIndex(targetIndex, targetKeys);
  const claims = claimsIn(workflows);
  const limits = manager.mirror<ConcurrencyLimit>(ConcurrencyLimit);
  const recorder =
    options.recorder ??
    manager.recorder({
      controller: "slipway.dev/workflow-controller",
      instance: "slipway",
      perObject: eventBudget,
    });
  const record = (workflow: Stored<Workflow>, notice: Notice): void =>
    recorder.record({ ...notice, regarding: regardingOf(workflow) });
  const reconciler = workflowReconciler(
    {
      client,
      clientFor: (workflow) => manager.clientFor(workflow),
      clock,
      workflows,
      actions,
      jobs,
      limits,
      cacheEntries,
      claimsIn: claims,
      slots: new SharedSlots(workflows, (key) => news.send(splitKey(key))),
      kinds,
      templates: templateReader(manager, kinds),
      tally: tallyIn(manager.metrics),
      executors: { ...executorsOf(manager, kinds, jobs), ...options.executors },
      record,
    },
    memories,
  );
  controllerFor(manager, "workflow")
    .for<Workflow>(Workflow, {
      // Own writes were acted on already.
      predicates: [({ type, object, old }) => type !== "update" || old === object || !memories.isOwnWrite(object)],
      isOwed: (workflow) => !isFinished(workflow),
      resyncEvery: options.resyncEvery ?? 600_000,
    })
    .watches<RunAction>(RunAction, (action) => targetIn(action, Workflow).map(splitKey))
    .watchesChannel(news)
    .with({ maxConcurrent: 256 })
    .complete(reconciler);
  addLimitController(manager, limits, claims, (workflow) => news.send(workflow));
  controllerFor(manager, "cache-entry")
    .for<CacheEntry>(CacheEntry)
    .complete(cacheUpkeep({ client, clock, entries: cacheEntries }));
  addNotifier(manager, workflows, record);
  addScheduleController(manager, recorder);
  const uncount = countWorkflows(manager.metrics, workflows);
  manager.onStopped(() => {
    uncount();
    kinds.close();
  });
}

/** Jobs are always mirrored, other kinds on demand: one informer per kind. */
function executorsOf(manager: Manager, kinds: WatchedKinds, jobs: ReturnType<WatchedKinds["acquire"]>): Executors {
  const { client } = manager;
  const clients: StepClients = { client, clientFor: (workflow) => manager.clientFor(workflow) };
  const find: FindMirror = async (apiVersion, kind, { workflow }) => {
    const type = await client.resourceType(apiVersion, kind);
    if (type === undefined) return "unknown";
    const children = kinds.acquire(type, keyOf(workflow.metadata));
    const refusal = children.refusal();
    if (refusal !== undefined) return { forbidden: refusal.message };
    return children.hasSynced() ? { type, children } : "syncing";
  };
  const refer: Refer = ({ workflow }, { type }, key) => kinds.refer(type, key, keyOf(workflow.metadata));
  const job = jobExecutor(clients, jobs, ({ workflow }) => {
    const user = keyOf(workflow.metadata);
    const pods = kinds.acquire(Pod, user);
    return pods.hasSynced() ? { pods, follow: (pod) => kinds.refer(Pod, keyOf(pod.metadata), user) } : undefined;
  });
  return {
    jobTemplate: job,
    container: job,
    template: templateExecutor(clients, find, refer),
    workflow: workflowExecutor(clients, find),
    externalRef: referenceExecutor(clients, find, refer),
  };
}

/** Reads templates with the rights of the workflow's writer, because their content appears in the status. */
const templateReader = (manager: Manager, kinds: WatchedKinds): Parts["templates"] => ({
  async look(workflow, name, signal) {
    const { namespace } = workflow.metadata;
    const place = { name, ...(namespace === undefined ? {} : { namespace }) };
    const user = keyOf(workflow.metadata);
    kinds.acquire(WorkflowTemplate, user);
    kinds.refer(WorkflowTemplate, keyOf(place), user);
    const client = manager.clientFor(workflow);
    try {
      const template = await client.get<WorkflowTemplate>({ type: WorkflowTemplate, ...place }, { signal });
      return { is: "found", template };
    } catch (thrown) {
      if (isForbidden(thrown)) return { is: "refused", message: messageOf(thrown) };
      if (!isNotFound(thrown)) throw thrown;
      return { is: "missing" };
    }
  },
});
