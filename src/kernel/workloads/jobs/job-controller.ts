import { inGrowingBatches, inParallel, type Instant, jsonEquals, messageOf, type Millis } from "#lib/base/index.ts";
import {
  conditionOf,
  ensureDeleted,
  isTrue,
  type Manager,
  patchStatus,
  type ReconcileContext,
  type ReconcileRequest,
  type ReconcileResult,
  type Reconciler,
  removeFinalizer,
  requestKey,
  requeueAt,
} from "#kernel/kit/index.ts";
import { controllerOf, Job, Pod, type Stored } from "#kernel/model/index.ts";
import { type JobObject, type JobStatus, trackingFinalizer } from "../job-types.ts";
import type { PodObject } from "../pod-types.ts";
import { addWorkloadController, ownChildren, type Workload } from "../workload-controller.ts";
import { isTracked, type JobPod, type NewPod, podFor } from "./job-pod.ts";
import { isOver, type JobPlan, planJob } from "./plan-job.ts";

// Level based: every pass makes a plan from the Job and its pods as they are, and carries it out in an order in which a crash at any
// point leaves nothing that the next pass does not set right. See `planJob` for what is decided and why counting is exact.

/** Pods are not taken by labels: a Job counts those it has made, and no others. */
const jobs = {
  name: "job",
  reporter: "kubernetes.io/job-controller",
  type: Job,
  childType: Pod,
  isOver,
  // Also how late a deadline may be noticed while pods are refused.
  longestRetry: 60_000,
} as const;

/** A status that decides nothing waits this long for a better one: a Job of one short pod costs one status write. */
const coalesce: Millis = 500;

/**
 * Gives the manager the Job controller. Jobs of another controller (`spec.managedBy`) are left alone. When the manager stops,
 * nothing more is created or counted; the pods go on.
 */
export const addJobController = (manager: Manager, options: { readonly instance: string }): void =>
  addWorkloadController<JobObject, PodObject>(manager, jobs, options, (workload) => new JobReconciler(workload));

/** Carries out the plan of one Job: creates, deletes, writes the status, lets pods go, and looks again. */
class JobReconciler implements Reconciler {
  readonly #workload: Workload<JobObject, PodObject>;
  /** Since when the stored status of a Job has been behind, by its key. */
  readonly #behindSince = new Map<string, Instant>();

  constructor(workload: Workload<JobObject, PodObject>) {
    this.#workload = workload;
  }

  async reconcile(request: ReconcileRequest, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const key = requestKey(request);
    const { objects, childrenOf } = this.#workload;
    const job = objects.get(key);
    const strangers = childrenOf(key).filter((pod) => controllerOf(pod)?.uid !== job?.metadata.uid);
    // Pods of a Job that is gone, also when another one has its name, wait for nobody.
    await this.#release(strangers.filter(isTracked));
    if (job === undefined) {
      this.#behindSince.delete(key);
      return undefined;
    }
    if ((job.spec.managedBy ?? jobs.reporter) !== jobs.reporter) return undefined;
    signal.throwIfAborted();
    return this.#sync(job, key);
  }

  /**
   * Pods first, then the status that tells of them, then the release of what that status holds. What keeps pods from being created
   * keeps nothing else back: those that have ended are counted all the same.
   */
  async #sync(job: Stored<JobObject>, key: string): Promise<ReconcileResult | undefined> {
    const before = this.#plan(job);
    await inParallel(before.drop, (pod) => this.#dropPod(job, pod));
    await inParallel(before.remove, (pod) => this.#removePod(job, pod));
    const failure = await inGrowingBatches(before.create, (pod) => this.#createPod(job, pod)).then(
      () => undefined,
      (thrown: unknown) => ({ thrown }),
    );
    const changed = before.drop.length + before.remove.length + before.create.length > 0;
    const plan = changed ? this.#plan(job) : before;
    const { job: written, wait } = await this.#writeStatus(job, key, plan);
    // Only what the stored status holds may be let go, so the plan is made again from what was just written.
    const after = written === job ? plan : this.#plan(written);
    await this.#release(after.release);
    if (failure !== undefined) throw failure.thrown;
    if (after.expires) await ensureDeleted(this.#workload.client, Job, written, { propagationPolicy: "Background" });
    return this.#nextLook(written, after, wait);
  }

  /** Of the Pods as the mirror has them, this process's own writes included. */
  #plan(job: Stored<JobObject>): JobPlan {
    return planJob(job, ownChildren(this.#workload, job), this.#workload.clock.now());
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
    const now = this.#workload.clock.now();
    const since = this.#behindSince.get(key) ?? now;
    const wait = since + coalesce - now;
    if (!plan.isUrgent && wait > 0) {
      this.#behindSince.set(key, since);
      return { job, wait };
    }
    const written = await patchStatus<JobObject>(this.#workload.client, Job, job, plan.status);
    this.#behindSince.delete(key);
    this.#tellChanges(written, job.status ?? {}, plan.status);
    return { job: written };
  }

  /** The earliest of what is due: a status that waits, an end that is to be counted, a deadline or time to live. */
  #nextLook(job: Stored<JobObject>, plan: JobPlan, wait: Millis | undefined): ReconcileResult | undefined {
    // What was let go just now still has to be counted; that may wait for company.
    const isUncounted = plan.release.length > 0 && !isOver(job) ? coalesce : undefined;
    const wake = requeueAt(plan.wakeAt, this.#workload.clock.now())?.requeueAfter;
    const times = [wait, isUncounted, wake].filter((time) => time !== undefined);
    return times.length === 0 ? undefined : { requeueAfter: Math.min(...times) };
  }

  /**
   * The client notes what it has written in the mirrors, so the next plan counts the pod although no event has come yet. The event of a
   * refusal tells its reason (quota, a missing account), which nothing else would show to people.
   */
  async #createPod(job: Stored<JobObject>, pod: NewPod): Promise<void> {
    try {
      const created = await this.#workload.client.create<PodObject>(Pod, podFor(job, pod));
      this.#tell(job, "Normal", "SuccessfulCreate", "Create", `Created pod: ${created.metadata.name}`);
    } catch (thrown) {
      this.#tell(job, "Warning", "FailedCreate", "Create", `Error creating: ${messageOf(thrown)}`);
      throw thrown;
    }
  }

  async #removePod(job: Stored<JobObject>, pod: JobPod): Promise<void> {
    // Seen at once as terminating, so that it is not deleted again or counted as active.
    await ensureDeleted(this.#workload.client, Pod, pod);
    this.#tell(job, "Normal", "SuccessfulDelete", "Delete", `Deleted pod: ${pod.metadata.name}`);
  }

  /** Let go first, so that its end never counts. One that has ended since it was looked at conflicts, and is looked at again. */
  async #dropPod(job: Stored<JobObject>, pod: JobPod): Promise<void> {
    await this.#removePod(job, await removeFinalizer(this.#workload.client, Pod, pod, trackingFinalizer));
  }

  /** Takes the finalizer off, which lets a deleted pod go; the pod's end must be in the stored status. */
  async #release(pods: readonly JobPod[]): Promise<void> {
    await inParallel(pods, (pod) => removeFinalizer(this.#workload.client, Pod, pod, trackingFinalizer));
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

  #tell(job: Stored<JobObject>, type: "Normal" | "Warning", reason: string, action: string, text: string): void {
    this.#workload.tell(job, { type, reason, action, text });
  }
}
