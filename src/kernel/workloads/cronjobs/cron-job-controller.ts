import { type Instant, messageOf, type Millis } from "#lib/base/index.ts";
import {
  ensureDeleted,
  type Manager,
  patchStatus,
  type ReconcileContext,
  type ReconcileRequest,
  type ReconcileResult,
  type Reconciler,
  refTo,
  requestKey,
} from "#kernel/kit/index.ts";
import { controllerOf, CronJob, isAlreadyExists, Job, type Stored } from "#kernel/model/index.ts";
import type { CronJobObject } from "../cron-job-types.ts";
import type { JobObject } from "../job-types.ts";
import { addWorkloadController, ownChildren, type Workload } from "../workload-controller.ts";
import { type CronsJob, type Note, planCronJob } from "./plan-cron-job.ts";
import { jobNameFor, scheduledJob } from "./scheduled-job.ts";

// A pass reads the schedule and the Jobs, creates at most one Job, and then writes the status. After a crash between
// the two the next pass finds the Job by its name.

const cronJobs = {
  name: "cronjob",
  reporter: "kubernetes.io/cronjob-controller",
  type: CronJob,
  childType: Job,
} as const;

/** Timers measure elapsed time; the clock may be set, or the machine may sleep, meanwhile. */
const longestSleep: Millis = 60_000;

export const addCronJobController = (manager: Manager, options: { readonly instance: string }): void =>
  addWorkloadController<CronJobObject, JobObject>(
    manager,
    cronJobs,
    options,
    (workload) => new CronJobReconciler(workload),
  );

class CronJobReconciler implements Reconciler {
  readonly #workload: Workload<CronJobObject, JobObject>;
  /** The latest notes of each CronJob: they stay true until the next scheduled time, and are recorded once. */
  readonly #told = new Map<string, ReadonlySet<string>>();

  constructor(workload: Workload<CronJobObject, JobObject>) {
    this.#workload = workload;
  }

  async reconcile(request: ReconcileRequest, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { objects, clock } = this.#workload;
    const key = requestKey(request);
    const cron = objects.get(key);
    if (cron === undefined) {
      this.#told.delete(key);
      return undefined;
    }
    const plan = planCronJob(cron, ownChildren(this.#workload, cron), clock.now());
    this.#tellNew(cron, key, plan.notes);
    for (const job of plan.remove) await this.#remove(cron, job);
    signal.throwIfAborted();
    if (plan.create !== undefined) await this.#create(cron, plan.create);
    await this.#writeStatus(cron);
    if (plan.wakeAt === undefined) return undefined;
    return { requeueAfter: Math.min(longestSleep, Math.max(1, plan.wakeAt - clock.now())) };
  }

  /** A Job of that name that we control was created before a crash; another one is left alone. */
  async #create(cron: Stored<CronJobObject>, at: Instant): Promise<void> {
    const { client, tell } = this.#workload;
    try {
      await client.create<JobObject>(Job, scheduledJob(cron, at));
    } catch (thrown) {
      if (isAlreadyExists(thrown)) {
        const present = await client.get<JobObject>(refTo(Job, scheduledJob(cron, at)));
        if (controllerOf(present)?.uid === cron.metadata.uid) return;
      }
      tell(cron, { type: "Warning", reason: "FailedCreate", text: `Error creating job: ${messageOf(thrown)}` });
      throw thrown;
    }
    tell(cron, { type: "Normal", reason: "SuccessfulCreate", text: `Created job ${jobNameFor(cron, at)}` });
  }

  async #remove(cron: Stored<CronJobObject>, job: CronsJob): Promise<void> {
    const { client, tell } = this.#workload;
    await ensureDeleted(client, Job, job, { propagationPolicy: "Background" });
    tell(cron, { type: "Normal", reason: "SuccessfulDelete", text: `Deleted job ${job.metadata.name}` });
  }

  /** Planned again: the mirror shows own writes at once. */
  async #writeStatus(cron: Stored<CronJobObject>): Promise<void> {
    const { client, clock } = this.#workload;
    const { status } = planCronJob(cron, ownChildren(this.#workload, cron), clock.now());
    await patchStatus<CronJobObject>(client, CronJob, cron, status);
  }

  #tellNew(cron: Stored<CronJobObject>, key: string, notes: readonly Note[]): void {
    const before = this.#told.get(key);
    const idOf = ({ reason, text, about }: Note) => `${reason} ${about ?? text}`;
    for (const note of notes) if (before?.has(idOf(note)) !== true) this.#workload.tell(cron, note);
    if (notes.length > 0) this.#told.set(key, new Set(notes.map(idOf)));
  }
}
