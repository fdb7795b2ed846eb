import {
  addFinalizer,
  type ApiClient,
  getOrUndefined,
  type Lister,
  patchStatus,
  type Reconciler,
  type ReconcileResult,
  refTo,
  removeFinalizer,
  retryOnConflict,
} from "#kernel/kit/index.ts";
import { isConflict, keyOf, type Stored } from "#kernel/model/index.ts";
import { type Clock, formatInstant, type Instant, messageOf, type Millis, parseInstant } from "#lib/base/index.ts";
import { actionsFor, answer, openActions, RunAction } from "#kernel/dialect/index.ts";
import { isOver, wordOf } from "../state.ts";
import { Build, type BuildStatus, type Worker } from "../kinds.ts";
import { startedByAnnotation } from "../build-annotations.ts";
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

// wharf-api starts builds that it creates; the controller starts all others and those that wharf-api could not
// finish. This provisioner starts one worker per build number, so asking twice is harmless. Released provisioners start
// another one each time: `TriggerUnknown` is stored before they are asked, and they are never asked again. All waiting
// is bounded: after the deadlines a build ends, or is deleted, without its worker.

export interface KeptResults {
  remove(buildId: number): Promise<void>;
}

interface BuildParts extends StartParts {
  readonly clock: Clock;
  readonly kept: KeptResults;
  readonly actions: Lister<RunAction>;
  readonly workers: Lister<Worker>;
  readonly record: (build: Stored<Build>, notice: Notice) => void;
  /** How long an unresponsive engine is retried; default: a minute. */
  readonly triggerDeadlineMs?: Millis | undefined;
}

interface Notice {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

export const workersByBuild = "wharf.slipway.dev/build";

/** Keeps a deleted build until its worker, log and artifacts are gone. */
const resultsFinalizer = "wharf.slipway.dev/results";

/** The request that created a build starts it; the controller waits this long. */
const starterGrace: Millis = 15_000;

const engineDeadline: Millis = 60_000;
/** How long a possibly started worker may be silent: pulling images takes time. */
const unknownDeadline: Millis = 600_000;
const retryAfter: Millis = 2000;
/** A worker that ends in order keeps serving its results this long. */
const drainDeadline: Millis = 65_000;

interface Pass extends BuildParts {
  readonly build: Stored<Build>;
  readonly now: Instant;
  readonly signal: AbortSignal;
}

/** Each pass makes one change: assigns the number, requests the worker, ends the build or removes what it left. */
export const buildReconciler = (parts: BuildParts): Reconciler => ({
  async reconcile({ namespace = "", name }, { signal }) {
    // Read instead of mirrored: decisions start and end workers.
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
    // A build that ended before it started was never checked for passwords.
    const mayShow = !isEnded || build.status?.workerId === undefined;
    if (mayShow && (await hideInputs(build, pass, signal))) return undefined;
    if (isEnded) return isItsOwn(pass, build.spec.buildId) ? await endLate(pass) : undefined;
    if (build.spec.cancel === true) return await cancel(pass);
    return await begin(pass);
  },
});

function otherHolder({ records, build }: Pass, buildId: number): Stored<Build> | undefined {
  const holder = records.build(buildId);
  return holder?.metadata.uid === build.metadata.uid ? undefined : holder;
}

/** False for a build that failed because its number was taken: the worker and results are the other build's. */
const isItsOwn = (pass: Pass, buildId: number): boolean =>
  pass.build.status?.reason !== numberTaken && otherHolder(pass, buildId) === undefined;

async function store({ client, build }: Pass, status: BuildStatus | undefined): Promise<Stored<Build>> {
  return status === undefined ? build : await patchStatus(client, Build, build, status);
}

/** Stores an engine's answer despite concurrent writes: the engine may not be asked again. */
function storeAnswer(
  { client, clock, build }: Pass,
  change: (current: Stored<Build>) => BuildStatus | undefined,
): Promise<Stored<Build>> {
  return retryOnConflict({ clock, tries: 8 }, async () => {
    const current = await client.get<Build>(refTo(Build, build));
    if (current.metadata.uid !== build.metadata.uid) return build;
    const status = change(current);
    return status === undefined ? current : await patchStatus(client, Build, current, status);
  });
}

async function fail(pass: Pass, reason: string, message: string): Promise<undefined> {
  const status = untriggered(pass.build, reason, message, pass.now);
  if (status === undefined) return;
  await store(pass, status);
  pass.record(pass.build, { type: "Warning", reason, message });
}

const askedAt = ({ metadata, status }: Stored<Build>): Instant =>
  parseInstant(status?.scheduledOn ?? metadata.creationTimestamp) ?? 0;

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
    // Bound to this pass's version: nobody else has asked.
    const note = async () => void (await store(pass, perhapsTriggered(build, notAnswered, now)));
    workerId = await startWorker(build, pass, signal, note);
  } catch (thrown) {
    return await withoutWorker(pass, thrown);
  }
  await storeAnswer(pass, (current) => triggered(current, workerId, now));
  pass.record(build, { type: "Normal", reason: "Started", message: `worker ${workerId} runs the build` });
  return undefined;
}

async function withoutWorker(pass: Pass, thrown: unknown): Promise<ReconcileResult | undefined> {
  // Changed before the engine was asked: the next pass looks again.
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
    // An answer may have been lost: a build that is given up must not run.
    await endIts(told, { isForced: true });
    return await fail(told, "TriggerFailed", message);
  }
  pass.record(build, { type: "Warning", reason: "TriggerFailed", message });
  return { requeueAfter: retryAfter };
}

/** A silent worker counts as lost until it reports. */
async function giveTime(pass: Pass): Promise<ReconcileResult | undefined> {
  const { build, now } = pass;
  const left = askedAt(build) + unknownDeadline - now;
  if (left > 0) return { requeueAfter: left };
  const message = `no worker has reported for ten minutes: ${build.status?.message ?? ""}`;
  await store(pass, moved(build, "Failed", { reason: workerLost, message }, now));
  pass.record(build, { type: "Warning", reason: workerLost, message });
  return undefined;
}

/** Engines name workers by their builds. */
const workerIdOf = ({ build: { spec, status: { workerId = "" } = {} }, instance }: Pass): string =>
  workerId === "" ? `wharf-cmd-worker-${instance}-${spec.buildId ?? 0}` : workerId;

const workersOf = ({ workers, build }: Pass): readonly Stored<Worker>[] =>
  workers.byIndex(workersByBuild, `${build.spec.buildId ?? 0}`);

const hasWorker = (pass: Pass): boolean => workersOf(pass).length > 0;

/** The build ends when its worker is gone, because its output is collected until then. */
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

async function endLate(pass: Pass): Promise<ReconcileResult | undefined> {
  const runs = workersOf(pass).some(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (pass.build.spec.cancel !== true || !runs) return undefined;
  return (await endIts(pass, {})) === undefined ? undefined : { requeueAfter: retryAfter };
}

async function endIts(pass: Pass, how: { readonly isForced?: boolean }): Promise<string | undefined> {
  try {
    await endWorker(engineFor(pass.build, pass.engines), workerIdOf(pass), how, pass.signal);
    return undefined;
  } catch (thrown) {
    return isUnstartable(thrown) ? undefined : messageOf(thrown);
  }
}

/** An engine that does not answer cannot block deletion: the watchdog ends stray workers. */
async function remove(pass: Pass): Promise<ReconcileResult | undefined> {
  const { build, now, client, kept } = pass;
  if (!(build.metadata.finalizers ?? []).includes(resultsFinalizer)) return undefined;
  const { buildId } = build.spec;
  // Checked here too: a build that is deleted at once had no pass that compared numbers.
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

interface ActionParts {
  readonly client: ApiClient;
  readonly actions: Lister<RunAction>;
  readonly build: Stored<Build>;
  readonly now: Instant;
  readonly signal: AbortSignal;
}

/** Answers RunActions of a build, oldest first. A cancel is stored in the spec before the answer, so that a crash in
 * between is harmless. True if the build was changed. */
async function answerActions(parts: ActionParts): Promise<boolean> {
  const { client, build, now, signal } = parts;
  let isChanged = false;
  for (const seen of openActions(actionsFor(parts.actions, Build, keyOf(build.metadata)))) {
    // The mirror may lag behind this process.
    const action = await getOrUndefined<RunAction>(client, refTo(RunAction, seen), signal);
    if (action === undefined || openActions([action]).length === 0) continue;
    const { phase, message } = judge(action, build);
    if (phase === "Done" && build.spec.cancel !== true && !isChanged && !isOver(wordOf(build))) {
      const body = { metadata: { uid: build.metadata.uid }, spec: { cancel: true } };
      await client.patch(refTo(Build, build), { type: "merge", body }, { signal });
      isChanged = true;
    }
    await answer(client, action, { phase, message }, now, signal);
  }
  return isChanged;
}

function judge(
  { spec }: RunAction,
  build: Stored<Build>,
): { readonly phase: "Done" | "Refused"; readonly message: string } {
  const { uid } = spec.target;
  if (uid !== undefined && uid !== build.metadata.uid)
    return { phase: "Refused", message: `the build of uid ${uid} is gone; another one has its name` };
  if (spec.action !== "cancel") return { phase: "Refused", message: `expected cancel: builds know no ${spec.action}` };
  const isAsked = build.spec.cancel === true;
  if (isOver(wordOf(build)) && !isAsked)
    return { phase: "Refused", message: `the build is ${wordOf(build)}; nothing of it can be canceled` };
  return { phase: "Done", message: isAsked ? "the build was asked to end before" : "canceled" };
}
