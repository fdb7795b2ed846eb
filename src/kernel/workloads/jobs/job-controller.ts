import { inGrowingBatches, inParallel, type Instant, jsonEquals, type Millis } from "#lib/base/index.ts";
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
import { addWorkloadController, ownChildren, type Workload, createPod, removePod } from "../workload-controller.ts";
import { isTracked, type JobPod, podFor } from "./job-pod.ts";
import { isOver, type JobPlan, planJob } from "./plan-job.ts";

// Each pass plans from the Job and its pods as they are, and writes in an order in which a crash at any point is
// repaired by the next pass. See `planJob` for why counting is exact.

const jobs = {
  name: "job",
  reporter: "kubernetes.io/job-controller",
  type: Job,
  childType: Pod,
  isOver,
  // Also bounds how late a deadline is noticed while pods are refused.
  longestRetry: 60_000,
} as const;

/** How long an unimportant status change waits for others: a Job of one short pod costs one status write. */
const coalesce: Millis = 500;

/** Adds the Job controller. Jobs of another controller (`spec.managedBy`) are ignored. */
export const addJobController = (manager: Manager, options: { readonly instance: string }): void =>
  addWorkloadController<JobObject, PodObject>(manager, jobs, options, (workload) => new JobReconciler(workload));

class JobReconciler implements Reconciler {
  readonly #workload: Workload<JobObject, PodObject>;
  /** Since when the stored status of each Job has been outdated. */
  readonly #behindSince = new Map<string, Instant>();

  constructor(workload: Workload<JobObject, PodObject>) {
    this.#workload = workload;
  }

  async reconcile(request: ReconcileRequest, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const key = requestKey(request);
    const { objects, childrenOf } = this.#workload;
    const job = objects.get(key);
    const strangers = childrenOf(key).filter((pod) => controllerOf(pod)?.uid !== job?.metadata.uid);
    // Pods of a deleted Job, also if a new one has its name.
    await this.#release(strangers.filter(isTracked));
    if (job === undefined) {
      this.#behindSince.delete(key);
      return undefined;
    }
    if ((job.spec.managedBy ?? jobs.reporter) !== jobs.reporter) return undefined;
    signal.throwIfAborted();
    return this.#sync(job, key);
  }

  /** Pods first, then the status, then releasing counted pods. A failure to create pods does not prevent counting. */
  async #sync(job: Stored<JobObject>, key: string): Promise<ReconcileResult | undefined> {
    const before = this.#plan(job);
    await inParallel(before.drop, (pod) => this.#dropPod(job, pod));
    await inParallel(before.remove, (pod) => removePod(this.#workload, job, pod));
    const failure = await inGrowingBatches(before.create, (pod) =>
      createPod(this.#workload, job, podFor(job, pod)),
    ).then(
      () => undefined,
      (thrown: unknown) => ({ thrown }),
    );
    const changed = before.drop.length + before.remove.length + before.create.length > 0;
    const plan = changed ? this.#plan(job) : before;
    const { job: written, wait } = await this.#writeStatus(job, key, plan);
    // Only pods that the stored status holds may be released.
    const after = written === job ? plan : this.#plan(written);
    await this.#release(after.release);
    if (failure !== undefined) throw failure.thrown;
    if (after.expires) await ensureDeleted(this.#workload.client, Job, written, { propagationPolicy: "Background" });
    return this.#nextLook(written, after, wait);
  }

  #plan(job: Stored<JobObject>): JobPlan {
    return planJob(job, ownChildren(this.#workload, job), this.#workload.clock.now());
  }

  /** Writes at once, or after the status has been outdated for `coalesce`; `wait` says how much longer it may be. */
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

  #nextLook(job: Stored<JobObject>, plan: JobPlan, wait: Millis | undefined): ReconcileResult | undefined {
    // Released pods still have to be counted; that may wait for others.
    const isUncounted = plan.release.length > 0 && !isOver(job) ? coalesce : undefined;
    const wake = requeueAt(plan.wakeAt, this.#workload.clock.now())?.requeueAfter;
    const times = [wait, isUncounted, wake].filter((time) => time !== undefined);
    return times.length === 0 ? undefined : { requeueAfter: Math.min(...times) };
  }

  /** Released first, so that its end never counts. A pod that has just ended causes a conflict and is planned again. */
  async #dropPod(job: Stored<JobObject>, pod: JobPod): Promise<void> {
    await removePod(this.#workload, job, await removeFinalizer(this.#workload.client, Pod, pod, trackingFinalizer));
  }

  /** The ends of these pods must be in the stored status. */
  async #release(pods: readonly JobPod[]): Promise<void> {
    await inParallel(pods, (pod) => removeFinalizer(this.#workload.client, Pod, pod, trackingFinalizer));
  }

  /** Only after the write succeeded: events never tell of what is not stored. */
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
