import { type Clock, type Instant, jsonEquals, type Millis } from "#lib/base/index.ts";
import {
  type ApiClient,
  conditionOf,
  controllerFor,
  type EventRecorder,
  eventRecorder,
  type Informer,
  type InformerFactory,
  isTrue,
  type Manager,
  patchStatus,
  type ReconcileContext,
  type ReconcileRequest,
  type ReconcileResult,
  type Reconciler,
  refTo,
  regardingOf,
  removeFinalizer,
  requestKey,
} from "#kernel/kit/index.ts";
import {
  controllerOf,
  isConflict,
  isNotFound,
  Job,
  type KubeObject,
  keyOf,
  Pod,
  type Stored,
} from "#kernel/model/index.ts";
import { type JobObject, type JobStatus, trackingFinalizer } from "../job-types.ts";
import { inParallel } from "../in-parallel.ts";
import type { PodObject } from "../pod-types.ts";
import { isTracked, type JobPod, type NewPod, podFor } from "./job-pod.ts";
import { isOver, type JobPlan, planJob } from "./plan-job.ts";

// Level based: every pass makes a plan from the Job and its pods as they are, and carries it out in an order in which a crash at any
// point leaves nothing that the next pass does not set right. See `planJob` for what is decided and why counting is exact.

const controllerName = "kubernetes.io/job-controller";
/** Index of pods by the key of the Job that controls them, whether it exists or not. */
const byJob = "job";

/** A status that decides nothing waits this long for a better one: a Job of one short pod costs one status write. */
const coalesce: Millis = 500;
/** Writes of one pass that are under way at the same time. */

/**
 * Gives the manager the Job controller. Jobs of another controller (`spec.managedBy`) are left alone. When the manager stops,
 * nothing more is created or counted; the pods go on.
 */
export function addJobController(manager: Manager, options: { readonly instance: string }): void {
  const { client, clock, informers, log, schedule } = manager;
  const pods = informers.acquire<PodObject>(Pod);
  const jobs = informers.acquire<JobObject>(Job);
  pods.informer.addIndex(byJob, jobKeys);
  const events = eventRecorder({
    client,
    clock,
    log,
    controller: controllerName,
    instance: options.instance,
    schedule,
  });
  const parts = { client, clock, informers, events, jobs: jobs.informer, pods: pods.informer };
  controllerFor(manager, "job").for<JobObject>(Job).owns<PodObject>(Pod).complete(new JobReconciler(parts));
  manager.onStopped(() => {
    pods.release();
    jobs.release();
    // What was recorded is written, or dropped with a note in the log; nobody need wait for it.
    void events.close();
  });
}

/** By name and not by uid, so that pods of a Job that is gone are found when its name is asked for. */
function jobKeys(pod: KubeObject): readonly string[] {
  const owner = controllerOf(pod);
  if (owner?.kind !== "Job" || !owner.apiVersion.startsWith("batch/")) return [];
  const { namespace } = pod.metadata;
  return [keyOf(namespace === undefined ? { name: owner.name } : { namespace, name: owner.name })];
}

/** What a pass needs; the mirrors show our own writes at once. */
interface Parts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly informers: InformerFactory;
  readonly events: EventRecorder;
  readonly jobs: Informer<JobObject>;
  readonly pods: Informer<PodObject>;
}

/** Carries out the plan of one Job: creates, deletes, writes the status, lets pods go, and looks again. */
class JobReconciler implements Reconciler {
  readonly #parts: Parts;
  /** Since when the stored status of a Job has been behind, by its key. */
  readonly #behindSince = new Map<string, Instant>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async reconcile(request: ReconcileRequest, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const key = requestKey(request);
    const job = this.#parts.jobs.get(key);
    const pods = this.#parts.pods.byIndex(byJob, key);
    const strangers = pods.filter((pod) => controllerOf(pod)?.uid !== job?.metadata.uid);
    // Pods of a Job that is gone, also when another one has its name, wait for nobody.
    await this.#release(strangers.filter(isTracked));
    if (job === undefined) {
      this.#behindSince.delete(key);
      return undefined;
    }
    if ((job.spec.managedBy ?? controllerName) !== controllerName) return undefined;
    signal.throwIfAborted();
    return this.#sync(job, key);
  }

  /** Pods first, then the status that tells of them, then the release of what that status holds. */
  async #sync(job: Stored<JobObject>, key: string): Promise<ReconcileResult | undefined> {
    const before = this.#plan(job, key);
    await inParallel(before.remove, (pod) => this.#removePod(job, pod));
    await inParallel(before.create, (pod) => this.#createPod(job, pod));
    const changed = before.remove.length + before.create.length > 0;
    const plan = changed ? this.#plan(job, key) : before;
    const { job: written, wait } = await this.#writeStatus(job, key, plan);
    // Only what the stored status holds may be let go, so the plan is made again from what was just written.
    const after = written === job ? plan : this.#plan(written, key);
    await this.#release(after.release);
    if (after.expires) await this.#expire(written);
    return this.#nextLook(written, after, wait);
  }

  #plan(job: Stored<JobObject>, key: string): JobPlan {
    const own = this.#parts.pods.byIndex(byJob, key).filter((pod) => controllerOf(pod)?.uid === job.metadata.uid);
    return planJob(job, own, this.#parts.clock.now());
  }

  /** Now, or when the stored status has been behind for a while; `wait` says how long it may still be. */
  async #writeStatus(
    job: Stored<JobObject>,
    key: string,
    plan: JobPlan,
  ): Promise<{ job: Stored<JobObject>; wait?: Millis }> {
    if (jsonEquals(plan.status, job.status ?? {})) {
      this.#behindSince.delete(key);
      return { job };
    }
    const now = this.#parts.clock.now();
    const since = this.#behindSince.get(key) ?? now;
    const wait = since + coalesce - now;
    if (!plan.isUrgent && wait > 0) {
      this.#behindSince.set(key, since);
      return { job, wait };
    }
    const written = await patchStatus<JobObject>(this.#parts.client, Job, job, plan.status);
    this.#behindSince.delete(key);
    this.#tellChanges(written, job.status ?? {}, plan.status);
    return { job: written };
  }

  #nextLook(job: Stored<JobObject>, plan: JobPlan, wait: Millis | undefined): ReconcileResult | undefined {
    const now = this.#parts.clock.now();
    // What was let go just now still has to be counted; that may wait for company.
    const isUncounted = plan.release.length > 0 && !isOver(job) ? coalesce : undefined;
    const wake = plan.wakeAt === undefined ? undefined : Math.max(1, plan.wakeAt - now);
    const times = [wait, isUncounted, wake].filter((time) => time !== undefined);
    return times.length === 0 ? undefined : { requeueAfter: Math.min(...times) };
  }

  /** The client notes what it has written in the mirrors, so the next plan counts the pod although no event has come yet. */
  async #createPod(job: Stored<JobObject>, pod: NewPod): Promise<void> {
    const created = await this.#parts.client.create<PodObject>(Pod, podFor(job, pod));
    this.#tell(job, "Normal", "SuccessfulCreate", "Create", `created pod: ${created.metadata.name}`);
  }

  /** A pod that is gone, or whose name is another's by now, is removed already. */
  async #removePod(job: Stored<JobObject>, pod: JobPod): Promise<void> {
    const { uid, name } = pod.metadata;
    try {
      const answer = await this.#parts.client.delete(refTo(Pod, pod), { preconditions: { uid } });
      // Seen at once as terminating, so that it is not deleted again or counted as active.
      if (isStoredPod(answer)) this.#parts.informers.noteWritten(Pod, answer);
    } catch (thrown) {
      if (!isNotFound(thrown) && !isConflict(thrown)) throw thrown;
    }
    this.#tell(job, "Normal", "SuccessfulDelete", "Delete", `deleted pod: ${name}`);
  }

  /** Takes the finalizer off, which lets a deleted pod go; the pod's end must be in the stored status. */
  async #release(pods: readonly JobPod[]): Promise<void> {
    await inParallel(pods, (pod) => removeFinalizer(this.#parts.client, Pod, pod, trackingFinalizer));
  }

  async #expire(job: Stored<JobObject>): Promise<void> {
    const { uid } = job.metadata;
    try {
      await this.#parts.client.delete(refTo(Job, job), { propagationPolicy: "Background", preconditions: { uid } });
    } catch (thrown) {
      if (!isNotFound(thrown) && !isConflict(thrown)) throw thrown;
    }
  }

  /** Events of what a status write has changed, after it succeeded: nobody is told of what is not stored. */
  #tellChanges(job: Stored<JobObject>, before: JobStatus, after: JobStatus): void {
    const became = (type: string) => isTrue(after.conditions, type) && !isTrue(before.conditions, type);
    const failure = conditionOf(after.conditions, "FailureTarget");
    if (became("FailureTarget")) {
      this.#tell(job, "Warning", failure?.reason ?? "Failed", "Sync", failure?.message ?? "Job has failed");
    }
    if (became("Complete")) this.#tell(job, "Normal", "Completed", "Sync", "Job completed");
    if (became("Suspended")) this.#tell(job, "Normal", "Suspended", "Sync", "Job suspended");
    if (isTrue(before.conditions, "Suspended") && !isTrue(after.conditions, "Suspended")) {
      this.#tell(job, "Normal", "Resumed", "Sync", "Job resumed");
    }
  }

  #tell(job: Stored<JobObject>, type: "Normal" | "Warning", reason: string, action: string, note: string): void {
    this.#parts.events.record({ regarding: regardingOf(job), type, reason, action, note });
  }
}

const isStoredPod = (answer: object): answer is Stored<PodObject> =>
  "kind" in answer && answer.kind === "Pod" && "metadata" in answer;
