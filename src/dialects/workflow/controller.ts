import type { Millis } from "#lib/base/index.ts";
import { controllerFor, type EventRecorder, type Manager, regardingOf, requestChannel } from "#kernel/kit/index.ts";
import { Job, keyOf, Pod, splitKey, type Stored } from "#kernel/model/index.ts";
import { CacheEntry } from "./cache/kind.ts";
import { cacheUpkeep } from "./cache/upkeep.ts";
import { Workflow, isFinished } from "./kinds.ts";
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
import { templateReader } from "./template-reader.ts";
import { WatchedKinds } from "./watched-kinds.ts";

/** What may differ from the usual; nothing of it is needed to run workflows. */
export interface WorkflowControllerOptions {
  /** Executors that take the place of the usual ones, for benchmarks and tests. */
  readonly executors?: Partial<Executors>;
  /** Where events go; a recorder of the controller's own unless told. */
  readonly recorder?: EventRecorder;
  /** Every workflow is looked at again about that often, as a safety net; 10 minutes unless told. */
  readonly resyncEvery?: Millis;
}

/** A run tells of every step, and its end must not be what is left out: a thousand steps at once, then some each second. */
const eventBudget = { perSecond: 10, burst: 3_000 };

/** Jobs are always mirrored, so the share of this user never ends. */
const always = "";

/**
 * Adds the controllers of this dialect to a manager that has not started: one for workflows, one for limits, one for schedules. All of them work on the manager's client and mirrors; what they hold is released when the manager
 * stops.
 *
 * A workflow gets a pass when it changes (but for versions this process wrote itself, which were acted on when they
 * were written), when an object it controls, waits for or was told by an action changes, when it was given what it waits for, when a timer of it is due,
 * and every ten minutes in any case. One pass of a workflow at a time, 256 workflows at once.
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
      // A version this process wrote was acted on when it was written.
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

/**
 * The executors of this version. Jobs are always mirrored, Pods when an attempt waits for those of the one before, other kinds
 * when a step needs them: by one informer per kind however many workflows ask.
 */
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
