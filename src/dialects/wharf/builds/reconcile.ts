import { type Clock, formatInstant, type Instant, messageOf, type Millis, parseInstant } from "#lib/base/index.ts";
import {
  addFinalizer,
  getOrUndefined,
  type Lister,
  patchStatus,
  type ReconcileResult,
  type Reconciler,
  refTo,
  removeFinalizer,
  retryOnConflict,
} from "#kernel/kit/index.ts";
import { isConflict, keyOf, type Stored } from "#kernel/model/index.ts";
import type { RunAction } from "#kernel/dialect/index.ts";
import { isOver, wordOf } from "../build-status.ts";
import { startedByAnnotation } from "../build-annotations.ts";
import { Build, type BuildStatus, type Worker } from "../kinds.ts";
import { answerActions } from "./build-actions.ts";
import { hideInputs } from "./hide-inputs.ts";
import { giveNumber, numberTaken } from "./give-number.ts";
import { engineFor, isUnknown, isUnstartable, type StartParts, startWorker } from "./start-worker.ts";
import {
  moved,
  notAnswered,
  perhapsTriggered,
  triggered,
  triggerUnknown,
  untriggered,
  withoutNote,
  workerLost,
} from "./transitions.ts";
import { endWorker } from "./trigger.ts";

// A build is started by whoever asks for it over REST, and by the controller where it was created in any other way or where that process has ended
// in between. Both ask an engine. One of this project knows builds by their numbers and starts one worker for each, so that asking twice is harmless
// and nothing has to be remembered but the worker's id. A released provisioner starts another one every time: that it is asked is stored before it is
// asked (`TriggerUnknown`), and who finds that does not ask again, whatever became of the answer.
//
// What is waited for has a bound: an engine that does not answer is asked for a minute, and a worker that is to end has a moment more than it takes
// for its results. After that a build ends, or goes, without them: whoever has deleted or canceled it wants that more than a tidy end.

//   number     worker     state               what a pass does
//   none       -          -                   gives it one; a project of kubectl gets its own in the same way
//   another's  -          Scheduling          Failed(NumberTaken): nothing was started, and nothing is removed with it
//   its own    none       Scheduling          asks its engine for a worker: at once, or when who has created it had the time to
//   its own    none       over a minute old   Failed(TriggerFailed), and invalid
//   its own    perhaps    TriggerUnknown      waits for what the worker tells; Failed(WorkerLost) when that is nothing for ten minutes
//   its own    there      Scheduling, Running nothing: what becomes of it is told over REST
//   its own    any        canceled            has the worker ended; Failed(Canceled) when it is gone
//   its own    comes late Failed(Canceled)    has it ended: who has asked for it did so while the build was being canceled
//   any        any        deleted             the same at once, then removes results, then lets the object go

/** What is kept of builds outside of their objects: logs, artifacts, results of tests. */
export interface KeptResults {
  /** Removes everything of a build; idempotent. */
  remove(buildId: number): Promise<void>;
}

/** What a pass works with. */
export interface BuildParts extends StartParts {
  readonly clock: Clock;
  readonly kept: KeptResults;
  /** With the index `targetIndex`. */
  readonly actions: Lister<RunAction>;
  /** With the index `workersByBuild`. */
  readonly workers: Lister<Worker>;
  readonly record: (build: Stored<Build>, notice: Notice) => void;
  /** For how long an engine that does not answer is asked for a worker; a minute unless told. */
  readonly triggerDeadlineMs?: Millis | undefined;
}

/** What people are told of a build beside its status. */
export interface Notice {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** Workers by the number of the build that they run. */
export const workersByBuild = "wharf.slipway.dev/build";

/** Keeps a deleted build until its worker, its log and its artifacts are gone. */
export const resultsFinalizer = "wharf.slipway.dev/results";

/** For the request that has created a build to start it, before the controller does. */
const starterGrace: Millis = 15_000;

/** For how long an engine that does not answer is asked again. */
const engineDeadline: Millis = 60_000;
/** For how long a worker may say nothing of which nobody knows whether it was started: images of Pods take their time. */
const unknownDeadline: Millis = 600_000;
/** Between two questions to an engine. */
const retryAfter: Millis = 2000;
/** A worker that ends in order may take this long: it keeps its results for whoever collects them. */
const drainDeadline: Millis = 65_000;

/** A pass: one build at one instant. */
interface Pass extends BuildParts {
  /** As it was read at the beginning; writes are bound to this version. */
  readonly build: Stored<Build>;
  readonly now: Instant;
  readonly signal: AbortSignal;
}

/**
 * One pass of a build: gives it its number, asks for its worker, ends it when somebody wants that, and removes what it has left when it is deleted.
 * What its worker tells comes over the REST API. Every pass makes one move and stores it; what follows, follows in the next.
 */
export const buildReconciler = (parts: BuildParts): Reconciler => ({
  async reconcile({ namespace = "", name }, { signal }) {
    // Read, not mirrored: what is decided here starts and ends workers.
    const build = await getOrUndefined<Build>(parts.client, { type: Build, namespace, name }, signal);
    if (build === undefined) return undefined;
    const pass: Pass = { ...parts, build, now: parts.clock.now(), signal };
    if (build.metadata.deletionTimestamp !== undefined) return await remove(pass);
    if (!(build.metadata.finalizers ?? []).includes(resultsFinalizer))
      return void (await addFinalizer(parts.client, Build, build, resultsFinalizer));
    if (build.spec.buildId === undefined) return await giveNumber(pass);
    const holder = otherHolder(pass, build.spec.buildId);
    if (holder !== undefined && !isOver(wordOf(build)))
      return await fail(pass, numberTaken, `build ${build.spec.buildId} is ${keyOf(holder.metadata)}`);
    const isCanceled = await answerActions(pass);
    if (isCanceled) return undefined;
    const isEnded = isOver(wordOf(build));
    // One that has ended before it began was never looked at for what is nobody's to see.
    const mayShow = !isEnded || build.status?.workerId === undefined;
    if (mayShow && (await hideInputs(build, pass, signal))) return undefined;
    if (isEnded) return isItsOwn(pass, build.spec.buildId) ? await endLate(pass) : undefined;
    if (build.spec.cancel === true) return await cancel(pass);
    return await begin(pass);
  },
});

/** Another build that a number is of, if there is one: what stands under the number is that one's. */
function otherHolder({ records, build }: Pass, buildId: number): Stored<Build> | undefined {
  const holder = records.build(buildId);
  return holder?.metadata.uid === build.metadata.uid ? undefined : holder;
}

/** Whether what stands under the number of a build is this one's to end and to remove: never of one that has failed because the number was taken. */
const isItsOwn = (pass: Pass, buildId: number): boolean =>
  pass.build.status?.reason !== numberTaken && otherHolder(pass, buildId) === undefined;

/** Stores a status that is not there already. */
async function store({ client, build }: Pass, status: BuildStatus | undefined): Promise<Stored<Build>> {
  return status === undefined ? build : await patchStatus(client, Build, build, status);
}

/** Stores what has come of asking an engine, whatever others have written meanwhile: it may not be asked a second time. */
function storeAnswer(
  { client, clock, build }: Pass,
  change: (current: Stored<Build>) => BuildStatus | undefined,
): Promise<Stored<Build>> {
  return retryOnConflict({ clock, tries: 8 }, async () => {
    const current = await client.get<Build>(refTo(Build, build));
    // Another one has its name by now.
    if (current.metadata.uid !== build.metadata.uid) return build;
    const status = change(current);
    return status === undefined ? current : await patchStatus(client, Build, current, status);
  });
}

/** Ends a build that nobody runs; one that somebody runs goes on. */
async function fail(pass: Pass, reason: string, message: string): Promise<undefined> {
  const status = untriggered(pass.build, reason, message, pass.now);
  if (status === undefined) return;
  await store(pass, status);
  pass.record(pass.build, { type: "Warning", reason, message });
}

/** Since when somebody wants it. */
const askedAt = ({ metadata, status }: Stored<Build>): Instant =>
  parseInstant(status?.scheduledOn ?? metadata.creationTimestamp) ?? 0;

/** Asks for its worker, again and again for a minute. */
async function begin(pass: Pass): Promise<ReconcileResult | undefined> {
  const { build, now, signal } = pass;
  if (build.status?.reason === triggerUnknown && wordOf(build) === "Scheduling") return await giveTime(pass);
  if (build.status?.workerId !== undefined || wordOf(build) !== "Scheduling") return undefined;
  if (build.status?.status === undefined) return void (await store(pass, moved(build, "Scheduling", {}, now)));
  const created = parseInstant(build.metadata.creationTimestamp) ?? 0;
  const isOthers = build.metadata.annotations?.[startedByAnnotation] !== undefined;
  if (isOthers && now - created < starterGrace) return { requeueAfter: starterGrace - (now - created) };
  let workerId: string;
  try {
    // Bound to the version of this pass: nobody else has asked.
    const note = async () => void (await store(pass, perhapsTriggered(build, notAnswered, now)));
    workerId = await startWorker(build, pass, signal, note);
  } catch (thrown) {
    return await withoutWorker(pass, thrown);
  }
  await storeAnswer(pass, (current) => triggered(current, workerId, now));
  pass.record(build, { type: "Normal", reason: "Started", message: `worker ${workerId} runs the build` });
  return undefined;
}

/** What follows when an engine has told no worker. */
async function withoutWorker(pass: Pass, thrown: unknown): Promise<ReconcileResult | undefined> {
  // Somebody has written before the engine was asked: the next pass looks again.
  if (isConflict(thrown)) throw thrown;
  const { now } = pass;
  const message = messageOf(thrown);
  if (isUnknown(thrown)) {
    const build = await storeAnswer(pass, (current) => perhapsTriggered(current, message, now));
    pass.record(build, { type: "Warning", reason: triggerUnknown, message });
    return { requeueAfter: unknownDeadline };
  }
  const build = await storeAnswer(pass, (current) => withoutNote(current).status);
  const told = { ...pass, build };
  if (isUnstartable(thrown)) return await fail(told, "Unstartable", message);
  if (now - askedAt(build) >= (pass.triggerDeadlineMs ?? engineDeadline)) {
    // One of the answers may have been lost on its way: a build that is given up is not to be run.
    await endIts(told, { isForced: true });
    return await fail(told, "TriggerFailed", message);
  }
  pass.record(build, { type: "Warning", reason: "TriggerFailed", message });
  return { requeueAfter: retryAfter };
}

/** A worker that was started all the same tells of itself; one that says nothing for long is taken for lost, until it does. */
async function giveTime(pass: Pass): Promise<ReconcileResult | undefined> {
  const { build, now } = pass;
  const left = askedAt(build) + unknownDeadline - now;
  if (left > 0) return { requeueAfter: left };
  const message = `nothing was heard of a worker for ten minutes: ${build.status?.message ?? ""}`;
  await store(pass, moved(build, "Failed", { reason: workerLost, message }, now));
  pass.record(build, { type: "Warning", reason: workerLost, message });
  return undefined;
}

/** What a worker is called whose id was never told: engines name workers by their builds. */
const workerIdOf = ({ build: { spec, status: { workerId = "" } = {} }, instance }: Pass): string =>
  workerId === "" ? `wharf-cmd-worker-${instance}-${spec.buildId ?? 0}` : workerId;

/** Its workers, as far as this API knows. */
const workersOf = ({ workers, build }: Pass): readonly Stored<Worker>[] =>
  workers.byIndex(workersByBuild, `${build.spec.buildId ?? 0}`);

/** True while a program may still run for the build, as far as this API knows. */
const hasWorker = (pass: Pass): boolean => workersOf(pass).length > 0;

/**
 * Has its worker ended. The build is over when the worker is gone, because until then what it has said is collected; an engine that does not answer
 * is asked for a minute.
 */
async function cancel(pass: Pass): Promise<ReconcileResult | undefined> {
  const { build, now } = pass;
  const since = parseInstant(build.status?.canceledOn ?? "");
  if (since === undefined) {
    const status = moved(build, wordOf(build), {}, now) ?? build.status;
    return void (await store(pass, { ...status, canceledOn: formatInstant(now) }));
  }
  const problem = await endIts(pass, {});
  const isLate = now - since >= (problem === undefined ? drainDeadline : engineDeadline);
  if (!isLate && (problem !== undefined || hasWorker(pass))) return { requeueAfter: retryAfter };
  await store(pass, moved(build, "Failed", {}, now));
  pass.record(build, { type: "Normal", reason: "Canceled", message: problem ?? "the build was canceled" });
  return undefined;
}

/** A build that was canceled before anybody knew of its worker has ended without it: such a worker would run all of it for nobody. */
async function endLate(pass: Pass): Promise<ReconcileResult | undefined> {
  const runs = workersOf(pass).some(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (pass.build.spec.cancel !== true || !runs) return undefined;
  return (await endIts(pass, {})) === undefined ? undefined : { requeueAfter: retryAfter };
}

/** Undefined when the engine has answered, or there is none to ask; else why not. */
async function endIts(pass: Pass, how: { readonly isForced?: boolean }): Promise<string | undefined> {
  try {
    await endWorker(engineFor(pass.build, pass.engines), workerIdOf(pass), how, pass.signal);
    return undefined;
  } catch (thrown) {
    return isUnstartable(thrown) ? undefined : messageOf(thrown);
  }
}

/** Removes what a build has left. An engine that does not answer cannot keep it: stray workers are the watchdog's. */
async function remove(pass: Pass): Promise<ReconcileResult | undefined> {
  const { build, now, client, kept } = pass;
  if (!(build.metadata.finalizers ?? []).includes(resultsFinalizer)) return undefined;
  const { buildId } = build.spec;
  // Asked here as well: a build that is deleted at once has had no pass before, and nothing says yet that its number is another's.
  if (buildId !== undefined && isItsOwn(pass, buildId)) {
    const mayRun = !isOver(wordOf(build)) || hasWorker(pass);
    const problem = mayRun ? await endIts(pass, { isForced: true }) : undefined;
    const since = parseInstant(build.metadata.deletionTimestamp ?? "") ?? 0;
    if ((problem !== undefined || hasWorker(pass)) && now - since < engineDeadline) return { requeueAfter: retryAfter };
    await kept.remove(buildId);
  }
  await removeFinalizer(client, Build, build, resultsFinalizer);
  return undefined;
}
