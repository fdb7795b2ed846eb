import { type Clock, type Instant, jsonEquals, messageOf, type Millis } from "#lib/base/index.ts";
import {
  type ApiClient,
  controllerFor,
  type EventRecorder,
  eventRecorder,
  type Informer,
  type Manager,
  patchStatus,
  type ReconcileContext,
  type ReconcileRequest,
  type ReconcileResult,
  type Reconciler,
  refTo,
  regardingOf,
  requestKey,
} from "#kernel/kit/index.ts";
import {
  controllerOf,
  CronJob,
  isAlreadyExists,
  isConflict,
  isNotFound,
  Job,
  type KubeObject,
  keyOf,
  type Stored,
} from "#kernel/model/index.ts";
import type { CronJobObject } from "../cron-job-types.ts";
import type { JobObject } from "../job-types.ts";
import { type CronsJob, type Note, planCronJob } from "./plan-cron-job.ts";
import { jobNameFor, scheduledJob } from "./scheduled-job.ts";

// Level based, like the Job controller: a pass reads the calendar and the Jobs, makes at most one Job, and writes what it saw. The
// Job comes before the status that tells of it; after a crash between the two the next pass finds the Job by its name.

const controllerName = "kubernetes.io/cronjob-controller";
/** Index of Jobs by the key of the CronJob that controls them, whether it exists or not. */
const byCronJob = "cronjob";

/** Timers count time that passes; a calendar goes by the clock, which is put right, or has slept, in between. */
const longestSleep: Millis = 60_000;

/** Gives the manager the CronJob controller, which needs that of Jobs. `instance` names this process in events. */
export function addCronJobController(manager: Manager, options: { readonly instance: string }): void {
  const { client, clock, informers, log, schedule } = manager;
  const crons = informers.acquire<CronJobObject>(CronJob);
  const jobs = informers.acquire<JobObject>(Job);
  jobs.informer.addIndex(byCronJob, cronJobKeys);
  const events = eventRecorder({
    client,
    clock,
    log,
    controller: controllerName,
    instance: options.instance,
    schedule,
  });
  const parts = { client, clock, events, crons: crons.informer, jobs: jobs.informer };
  controllerFor(manager, "cronjob")
    .for<CronJobObject>(CronJob)
    .owns<JobObject>(Job)
    .complete(new CronJobReconciler(parts));
  manager.onStopped(() => {
    crons.release();
    jobs.release();
    // What was recorded is written, or dropped with a note in the log; nobody need wait for it.
    void events.close();
  });
}

/** By name and not by uid, so that Jobs find the CronJob that asks for them with one look. */
function cronJobKeys(job: KubeObject): readonly string[] {
  const owner = controllerOf(job);
  if (owner?.kind !== "CronJob" || !owner.apiVersion.startsWith("batch/")) return [];
  const { namespace } = job.metadata;
  return [keyOf(namespace === undefined ? { name: owner.name } : { namespace, name: owner.name })];
}

/** What a pass works with; all of it lives as long as the manager. */
interface Parts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly crons: Informer<CronJobObject>;
  readonly jobs: Informer<JobObject>;
}

/** Carries out the plan of one CronJob. */
class CronJobReconciler implements Reconciler {
  readonly #parts: Parts;
  /** What was told last for each reason, by CronJob: the same thing is true at every pass until the next time comes. */
  readonly #told = new Map<string, ReadonlySet<string>>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async reconcile(request: ReconcileRequest, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> {
    const { crons, clock } = this.#parts;
    const key = requestKey(request);
    const cron = crons.get(key);
    if (cron === undefined) {
      this.#told.delete(key);
      return undefined;
    }
    const plan = planCronJob(cron, this.#jobsOf(cron), clock.now());
    // First, because it is true whether the rest of the pass succeeds or not.
    this.#tellNew(cron, key, plan.notes);
    for (const job of plan.remove) await this.#remove(cron, job);
    // What has been removed may stay removed; nothing new is begun by a manager that stops.
    signal.throwIfAborted();
    if (plan.create !== undefined) await this.#create(cron, plan.create);
    await this.#writeStatus(cron);
    if (plan.wakeAt === undefined) return undefined;
    return { requeueAfter: Math.min(longestSleep, Math.max(1, plan.wakeAt - clock.now())) };
  }

  /** By uid: Jobs of a former CronJob of the same name are the collector's. */
  #jobsOf({ metadata }: Stored<CronJobObject>): readonly CronsJob[] {
    return this.#parts.jobs
      .byIndex(byCronJob, keyOf(metadata))
      .filter((job) => controllerOf(job)?.uid === metadata.uid);
  }

  /** A Job of that name which is ours was made before a crash. Anybody else's stands in the way, and is not touched. */
  async #create(cron: Stored<CronJobObject>, at: Instant): Promise<void> {
    const { client } = this.#parts;
    const name = jobNameFor(cron, at);
    try {
      await client.create<JobObject>(Job, scheduledJob(cron, at));
    } catch (thrown) {
      if (isAlreadyExists(thrown)) {
        const present = await client.get<JobObject>(refTo(Job, scheduledJob(cron, at)));
        if (controllerOf(present)?.uid === cron.metadata.uid) return;
      }
      this.#tell(cron, { type: "Warning", reason: "FailedCreate", text: `Error creating job: ${messageOf(thrown)}` });
      throw thrown;
    }
    this.#tell(cron, { type: "Normal", reason: "SuccessfulCreate", text: `Created job ${name}` });
  }

  /** Its Pods go with it. That it is gone already is what was wanted. */
  async #remove(cron: Stored<CronJobObject>, job: CronsJob): Promise<void> {
    const { uid, name } = job.metadata;
    try {
      await this.#parts.client.delete(refTo(Job, job), { propagationPolicy: "Background", preconditions: { uid } });
    } catch (thrown) {
      if (!isNotFound(thrown) && !isConflict(thrown)) throw thrown;
    }
    this.#tell(cron, { type: "Normal", reason: "SuccessfulDelete", text: `Deleted job ${name}` });
  }

  /** Planned anew, because the mirror shows own writes at once. */
  async #writeStatus(cron: Stored<CronJobObject>): Promise<void> {
    const { client, clock } = this.#parts;
    const { status } = planCronJob(cron, this.#jobsOf(cron), clock.now());
    if (!jsonEquals(status, cron.status ?? {})) await patchStatus<CronJobObject>(client, CronJob, cron, status);
  }

  /** Records what is not known yet; the set is replaced, so what stops being true and comes back is told again. */
  #tellNew(cron: Stored<CronJobObject>, key: string, notes: readonly Note[]): void {
    const before = this.#told.get(key);
    const idOf = ({ reason, text, about }: Note) => `${reason} ${about ?? text}`;
    for (const note of notes) if (before?.has(idOf(note)) !== true) this.#tell(cron, note);
    if (notes.length > 0) this.#told.set(key, new Set(notes.map(idOf)));
  }

  #tell(cron: Stored<CronJobObject>, { type, reason, text }: Note): void {
    const regarding = regardingOf(cron);
    this.#parts.events.record({ regarding, type, reason, action: reason, note: text });
  }
}
