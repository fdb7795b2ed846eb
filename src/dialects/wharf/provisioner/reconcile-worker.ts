import { codeOf, type Instant, messageOf, type Millis, parseInstant, recover } from "#lib/base/index.ts";
import {
  addFinalizer,
  type ApiClient,
  type Informer,
  type ReconcileContext,
  type ReconcileResult,
  type Reconciler,
  refTo,
  removeFinalizer,
  requestKey,
  semanticEquals,
} from "#kernel/kit/index.ts";
import { asJson, isNotFound, Secret, type Stored } from "#kernel/model/index.ts";
import { Worker } from "../kinds.ts";
import { type Observed, wasStarted, type WorkerBackend } from "./backend.ts";
import { type Parameters, readParameters, type WorkerRequest } from "./parameters.ts";
import { nextRemovalStep } from "./removal.ts";
import type { ProvisionerSettings } from "./settings.ts";
import type { Slots } from "./slots.ts";
import { finalizer, forceAnnotation, parametersIn } from "./store-worker.ts";
import { candidateOf, identityOf, isWorkerOver, lasting, refusedStatus, statusOf } from "./worker-status.ts";

export interface WorkerParts {
  readonly client: ApiClient;
  readonly workers: Pick<Informer<Worker>, "get" | "list">;
  readonly backend: WorkerBackend;
  readonly settings: ProvisionerSettings;
  readonly slots: Slots;
  /** Uids of workers whose Secret was deleted. */
  readonly cleared: Set<string>;
}

// Polling covers what backends do not notice, such as the death of an adopted process.
const lookAgainMs: Millis = 3000;
const idleMs: Millis = 30_000;

/** Starts a worker when a slot is free, observes it and finally removes it in steps. */
export function workerReconciler(parts: WorkerParts): Reconciler {
  return {
    async reconcile(request, context) {
      const worker = parts.workers.get(requestKey(request));
      if (worker === undefined) return parts.slots.settle(requestKey(request));
      if (worker.metadata.deletionTimestamp !== undefined) return await remove(parts, worker, context);
      const held = await addFinalizer<Worker>(parts.client, Worker, worker, finalizer);
      return await provide(parts, held, context);
    },
  };
}

async function provide(
  parts: WorkerParts,
  worker: Stored<Worker>,
  { now }: ReconcileContext,
): Promise<ReconcileResult> {
  const { backend, slots } = parts;
  const observed = lasting(worker, await backend.observe(identityOf(worker)));
  if (observed.phase === "absent") return await begin(parts, worker, now);
  await writeStatus(parts, worker, statusOf(worker, backend.name, observed));
  // The program has read it.
  if (observed.phase === "running" || observed.phase === "finished") await removeSecret(parts, worker);
  if (wasStarted(observed)) slots.settle(keyOf(worker));
  return { requeueAfter: observed.phase === "finished" ? idleMs : lookAgainMs };
}

async function begin(parts: WorkerParts, worker: Stored<Worker>, now: Instant): Promise<ReconcileResult> {
  const { backend, slots, workers, settings } = parts;
  if (isWorkerOver(worker)) return { requeueAfter: idleMs };
  const refuse = async (message: string): Promise<ReconcileResult> => {
    await writeStatus(parts, worker, refusedStatus(worker, backend.name, message, now));
    slots.settle(keyOf(worker));
    return { requeueAfter: idleMs };
  };
  if (wasStarted(worker.status ?? {})) return await refuse("the worker has disappeared from where it ran");
  const request = await requestOf(parts, worker);
  if (typeof request === "string") return await refuse(request);
  const candidates = workers.list({ namespace: settings.namespace }).map(candidateOf);
  const waiting: Observed = { phase: "absent", isAlive: false, status: "Scheduling" };
  if (!slots.take(keyOf(worker), candidates)) {
    const message = `waiting: ${settings.maxWorkers} builds run at most at once`;
    await writeStatus(parts, worker, statusOf(worker, backend.name, { ...waiting, message }));
    return { requeueAfter: idleMs };
  }
  try {
    await backend.start(identityOf(worker), request);
  } catch (thrown) {
    if (codeOf(thrown) === "worker-refused") return await refuse(messageOf(thrown));
    const message = `not started yet: ${messageOf(thrown)}`;
    await writeStatus(parts, worker, statusOf(worker, backend.name, { ...waiting, message }));
    throw thrown;
  }
  await writeStatus(parts, worker, statusOf(worker, backend.name, waiting));
  return { requeueAfter: lookAgainMs };
}

const keyOf = ({ metadata: { namespace = "", name } }: Stored<Worker>): string => `${namespace}/${name}`;

async function requestOf(
  { client, settings }: WorkerParts,
  { metadata, spec }: Stored<Worker>,
): Promise<WorkerRequest | string> {
  const { namespace = "" } = metadata;
  let secrets: Parameters = {};
  if (spec.secretName !== undefined)
    try {
      secrets = parametersIn(await client.get({ type: Secret, namespace, name: spec.secretName }));
    } catch (thrown) {
      if (!isNotFound(thrown)) throw thrown;
      return `its Secret ${spec.secretName} does not exist`;
    }
  const build: Parameters = spec.buildRef === undefined ? {} : { BUILD_REF: `${spec.buildRef}` };
  const read = readParameters({ ...spec.args, ...build, ...secrets }, settings);
  return read.ok ? read.value : read.error.map(({ message }) => message).join("; ");
}

async function remove(
  parts: WorkerParts,
  worker: Stored<Worker>,
  { now }: ReconcileContext,
): Promise<ReconcileResult | undefined> {
  const { client, backend, slots, settings } = parts;
  const { deletionTimestamp = "", annotations = {}, finalizers = [] } = worker.metadata;
  if (!finalizers.includes(finalizer)) return undefined;
  const identity = identityOf(worker);
  const observed = lasting(worker, await backend.observe(identity));
  const removal = {
    deletedAt: parseInstant(deletionTimestamp) ?? now,
    isForced: annotations[forceAnnotation] === "true",
  };
  const { act, at } = nextRemovalStep(observed, removal, now, settings.removal);
  if (act === "remove") {
    await backend.remove(identity);
    await removeSecret(parts, worker);
    await removeFinalizer<Worker>(client, Worker, worker, finalizer);
    slots.settle(keyOf(worker));
    parts.cleared.delete(identity.uid);
    return undefined;
  }
  await writeStatus(parts, worker, statusOf(worker, backend.name, observed));
  if (act !== undefined) await backend.end(identity, act);
  return { requeueAfter: Math.max(1, Math.min(at - now, idleMs)) };
}

async function removeSecret({ client, cleared }: WorkerParts, { metadata, spec }: Stored<Worker>): Promise<void> {
  const { namespace = "", uid } = metadata;
  const { secretName } = spec;
  if (secretName === undefined || cleared.has(uid)) return;
  await client.delete({ type: Secret, namespace, name: secretName }).catch(recover(isNotFound, undefined));
  cleared.add(uid);
}

async function writeStatus(
  { client, workers }: WorkerParts,
  seen: Stored<Worker>,
  status: NonNullable<Worker["status"]>,
): Promise<void> {
  const worker = workers.get(keyOf(seen)) ?? seen;
  const next = { ...worker, status };
  if (semanticEquals(asJson(worker)["status"], asJson(next)["status"])) return;
  await client.updateStatus<Worker>(Worker, next);
}

/** Workers that may wait for a slot. */
export const waitingIn = (workers: Pick<Informer<Worker>, "list">, namespace: string) =>
  workers
    .list({ namespace })
    .filter((worker) => candidateOf(worker).isWaiting)
    .map((worker) => ({ namespace, name: refTo(Worker, worker).name }));
