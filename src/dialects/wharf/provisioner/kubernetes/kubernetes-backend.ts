import { recover } from "#lib/base/index.ts";
import type { Clock, Logger } from "#lib/base/index.ts";
import { type ApiClient, type Informer, refTo } from "#kernel/kit/index.ts";
import {
  isAlreadyExists,
  isInvalid,
  isNotFound,
  type KubeObject,
  type ResourceType,
  Pod,
  Secret,
  type Stored,
} from "#kernel/model/index.ts";
import type { Ending, Observed, WorkerBackend, WorkerIdentity } from "../backend.ts";
import { provisionerError } from "../errors.ts";
import type { WorkerRequest } from "../parameters.ts";
import { connectTo, formatPodAddress, type ForwardPort } from "../pod-address.ts";
import { type AskedWorker, askForBuild, askToCancel } from "../worker-client.ts";
import { podSelector, workerNameLabel, workerUidLabel } from "../worker-labels.ts";
import { isLeaving, podState } from "./observed-pod.ts";
import type { PodSettings } from "./pod-settings.ts";
import { workerPod, workerSecret } from "./worker-pod.ts";

export interface KubernetesOptions {
  readonly client: ApiClient;
  readonly pods: Pick<Informer, "get">;
  readonly namespace: string;
  readonly settings: PodSettings;
  readonly forward: ForwardPort;
  readonly tokenOf: (uid: string) => string;
  readonly clock: Clock;
  readonly log: Logger;
}

const graceSeconds = 10;

/** Workers as Pods. Their results are in the Pod and are lost with it. */
export class KubernetesBackend implements WorkerBackend {
  readonly name = "kubernetes";
  readonly #options: KubernetesOptions;

  constructor(options: KubernetesOptions) {
    this.#options = options;
  }

  async start(worker: WorkerIdentity, request: WorkerRequest): Promise<void> {
    const { settings, tokenOf } = this.#options;
    await this.#ensure(worker, Secret, workerSecret(worker, request, tokenOf(worker.uid)));
    await this.#ensure(worker, Pod, workerPod(worker, request, settings));
  }

  async observe(worker: WorkerIdentity): Promise<Observed> {
    const pod = await this.#find(worker);
    if (pod === undefined) return { phase: "absent", isAlive: false, status: "Scheduling" };
    const { phase, status, message, finishedAt } = podState(pod, this.#options.clock.now());
    const seen = { status, message, runtimeId: pod.metadata.uid };
    if (phase === "ended") return { ...seen, phase: "finished", isAlive: false, finishedAt };
    if (phase === "stuck") return { ...seen, phase: "finished", isAlive: true, finishedAt };
    const build = phase === "running" ? await askForBuild(this.#asked(worker)) : undefined;
    // It may have begun: readers of the results will find out.
    if (build === undefined) return { ...seen, phase: "starting", isAlive: true };
    return {
      phase: build.isOver ? "finished" : "running",
      isAlive: true,
      status: build.isOver ? build.status : "Running",
      address: this.#address(worker),
      finishedAt: build.isOver ? build.finishedAt : undefined,
      message: build.message,
      runtimeId: pod.metadata.uid,
    };
  }

  async end(worker: WorkerIdentity, how: Ending): Promise<void> {
    const pod = await this.#find(worker);
    if (pod === undefined || (isLeaving(pod) && how !== "kill")) return;
    // An unreachable worker is asked again, because deleting the Pod loses results; one that has not begun has none.
    const hasBegun = podState(pod, this.#options.clock.now()).phase === "running";
    if (how === "cancel" && hasBegun) return void (await askToCancel(this.#asked(worker)));
    await this.#delete(Pod, pod, how === "kill" ? 0 : graceSeconds);
  }

  async remove(worker: WorkerIdentity): Promise<void> {
    const pod = await this.#find(worker);
    if (pod !== undefined) await this.#delete(Pod, pod, 0);
    const secret = await this.#get(worker, Secret);
    if (secret !== undefined) await this.#delete(Secret, secret);
  }

  /** Owned Pods are otherwise removed by the garbage collector. */
  async sweep(kept: () => readonly WorkerIdentity[]): Promise<void> {
    const { client, namespace, log } = this.#options;
    const selector = { namespace, labelSelector: `${podSelector},${workerUidLabel}` };
    const found = [
      ...(await client.list(Pod, selector)).items.map((pod) => ({ type: Pod, object: pod })),
      ...(await client.list(Secret, selector)).items.map((secret) => ({ type: Secret, object: secret })),
    ];
    const uids = new Set(kept().map(({ uid }) => uid));
    for (const { type, object } of found) {
      const { labels = {} } = object.metadata;
      if (uids.has(labels[workerUidLabel] ?? "")) continue;
      log.info("removing a leftover of a worker", { kind: type.kind, worker: labels[workerNameLabel] });
      await this.#delete(type, object, 0);
    }
  }

  async close(): Promise<void> {}

  #address = ({ namespace, name }: WorkerIdentity): string =>
    formatPodAddress({ namespace, name, port: this.#options.settings.port });

  #asked = (worker: WorkerIdentity): AskedWorker => ({
    connect: connectTo(this.#address(worker), this.#options.forward),
    token: this.#options.tokenOf(worker.uid),
  });

  /** Asks the server if the mirror has no Pod. */
  async #find(worker: WorkerIdentity): Promise<Stored | undefined> {
    const seen = this.#options.pods.get(`${worker.namespace}/${worker.name}`);
    return seen !== undefined && isOf(seen, worker) ? seen : await this.#get(worker, Pod);
  }

  async #get(worker: WorkerIdentity, type: ResourceType): Promise<Stored | undefined> {
    const { namespace, name } = worker;
    try {
      const found = await this.#options.client.get({ type, namespace, name });
      return isOf(found, worker) ? found : undefined;
    } catch (thrown) {
      if (isNotFound(thrown)) return undefined;
      throw thrown;
    }
  }

  /** An object of an earlier worker with this name is deleted first. */
  async #ensure(worker: WorkerIdentity, type: ResourceType, object: KubeObject): Promise<void> {
    const { client } = this.#options;
    try {
      await client.create(type, object);
    } catch (thrown) {
      if (isInvalid(thrown))
        throw provisionerError("worker-refused", `its ${type.kind} is refused: ${thrown.message}`, { cause: thrown });
      if (!isAlreadyExists(thrown)) throw thrown;
      const found = await client.get({ type, namespace: worker.namespace, name: worker.name });
      if (isOf(found, worker)) return;
      const { labels = {} } = found.metadata;
      if (labels[workerUidLabel] === undefined)
        throw provisionerError(
          "worker-refused",
          `a ${type.kind} named ${worker.name} already exists and is not owned by this worker`,
        );
      await this.#delete(type, found, graceSeconds);
      throw new Error(`a ${type.kind} of an earlier worker with this name still exists`, { cause: thrown });
    }
  }

  async #delete(type: ResourceType, object: Stored, gracePeriodSeconds?: number): Promise<void> {
    const { uid } = object.metadata;
    const grace = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    await this.#options.client
      .delete(refTo(type, object), { preconditions: { uid }, ...grace })
      .catch(recover(isNotFound, undefined));
  }
}

const isOf = ({ metadata }: KubeObject, { uid }: WorkerIdentity): boolean => metadata.labels?.[workerUidLabel] === uid;
