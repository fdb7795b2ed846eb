// The steps of a run: create, init waits, files in, init ends, step runs with output and watch, files out, delete.
// Requests are idempotent, and only the Pod's state says what has happened to it, never an answer.

import { randomBytes } from "node:crypto";
import { type Clock, messageOf, type Millis, recover, sleep } from "#lib/base/index.ts";
import type { PodName } from "#kernel/kit/index.ts";
import { isAlreadyExists, isNotFound, type OwnerReference, Pod, type Stored } from "#kernel/model/index.ts";
import type { LeftFiles } from "../../artifacts/chosen-artifacts.ts";
import type { StepPlan } from "../../plan/step-plan.ts";
import { type ValuePlace } from "../../secrets/find-values.ts";
import { serverPlace } from "../../secrets/server-place.ts";
import { archivedFiles } from "../archived-files.ts";
import { artifactsDirectory } from "../docker/container-words.ts";
import { thisOwner } from "../docker/owner-label.ts";
import { keptArtifacts } from "../kept-artifacts.ts";
import { Patience } from "../patience.ts";
import { endOfLife } from "../program-end.ts";
import { type BuildIdentity, stepNamePrefix } from "../step-labels.ts";
import { StepFailure } from "../step-failure.ts";
import { read, StepsAway } from "../steps-away.ts";
import type { StepEnd, StepJob, StepRuntime } from "../step-runtime.ts";
import { checkSteps, tryPods } from "./check-steps.ts";
import { type Cluster, clusterCounterpart } from "./cluster.ts";
import type { HelperImages } from "./helper-images.ts";
import { removeLeftovers } from "./leftovers.ts";
import { PodEvents } from "./pod-events.ts";
import { followPodLog } from "./pod-log.ts";
import {
  containerState,
  deletedByOthers,
  isDeleted,
  podLoss,
  podTrouble,
  type PodView,
  programEnd,
} from "./pod-state.ts";
import { PodWatch } from "./pod-watch.ts";
import type { PullPolicy } from "./pull-policy.ts";
import { podContainers, stepPod } from "./step-pod.ts";
import { archivesOf, endWaiting, putRepository } from "./transfer.ts";

export interface KubernetesOptions {
  readonly cluster: Cluster;
  readonly build: BuildIdentity;
  readonly clock: Clock;
  readonly images: HelperImages;
  readonly ownerReferences: readonly OwnerReference[];
  readonly pull?: PullPolicy | undefined;
  readonly alwaysArtifacts?: boolean | undefined;
  readonly compress?: boolean | undefined;
  readonly keepsFailed?: boolean;
  readonly onWarning?: ((message: string) => void) | undefined;
  readonly patience?: Millis;
}

/** How long pulling an image may fail. */
const pullPatience: Millis = 60_000;

/** How long to wait for the Pod's state after a broken connection. */
const newsPatience: Millis = 2_000;

interface Started {
  readonly name: string;
  readonly watch: PodWatch;
}

/** Runs steps as Pods with an unpacked copy of the project. Secrets and ConfigMaps are the cluster's. Pods of killed
 * workers of this machine are removed by the next worker of the instance. */
export class KubernetesStepRuntime implements StepRuntime {
  readonly name = "kubernetes";
  readonly values: ValuePlace;
  readonly #options: KubernetesOptions;
  readonly #cluster: Cluster;
  readonly #patience: Patience;
  readonly #steps = new StepsAway((name) => this.#deleteNow(name));

  constructor(options: KubernetesOptions) {
    const { cluster, clock, patience } = options;
    this.#options = options;
    this.#cluster = cluster;
    this.#patience = new Patience(clock, patience, clusterCounterpart);
    const { client, namespace, server } = cluster;
    const place = `the namespace ${namespace} of ${server}`;
    this.values = serverPlace(place, () => Promise.resolve({ client, namespace }), this.#steps.closing);
  }

  async check(steps: readonly StepPlan[], signal: AbortSignal) {
    this.#steps.number(steps.map(({ stage }) => stage));
    const found = await checkSteps(steps, this.#cluster, this.#options.images, signal);
    if (!found.some(({ severity }) => severity === "error"))
      await removeLeftovers(this.#cluster, this.#options.build.instance);
    return found;
  }

  async preview(steps: readonly StepPlan[], signal: AbortSignal) {
    const found = await checkSteps(steps, this.#cluster, this.#options.images, signal);
    if (found.some(({ severity }) => severity === "error")) return found;
    const pods = steps.map((step) => ({ step, pod: stepPod(step, plainVariables(step), this.#podOptions(step, 0)) }));
    return [...found, ...(await tryPods(pods, this.#cluster, signal))];
  }

  async run(job: StepJob): Promise<StepEnd> {
    return await this.#steps.run(job, async (signal) => await this.#carry(await this.#create(job), job, signal));
  }

  async close(): Promise<void> {
    await this.#steps.close();
    this.#cluster.streams.close();
    await this.#cluster.client.close();
  }

  /** Runs a created Pod to its end. The Pod is deleted with its step or when its files have been read. */
  async #carry(created: Stored, job: StepJob, signal: AbortSignal): Promise<StepEnd> {
    const { client, namespace } = this.#cluster;
    const { name, uid } = created.metadata;
    const watch = new PodWatch(created, { client, clock: this.#options.clock, patience: this.#patience });
    const events = new PodEvents({ client, namespace, name, uid, log: job.log });
    let isLeft = false;
    try {
      await this.#begin({ name, watch }, job, signal);
      const end = await this.#follow({ name, watch }, job);
      isLeft = end.artifacts !== undefined;
      if (!isLeft) this.#leave(name, end);
      return end;
    } catch (thrown) {
      this.#leave(name, { status: job.signal.aborted ? "Cancelled" : "Failed" });
      throw thrown;
    } finally {
      await Promise.all([watch.close(), events.close()]);
    }
  }

  async #begin({ name, watch }: Started, job: StepJob, signal: AbortSignal): Promise<void> {
    const pod = { namespace: this.#cluster.namespace, name };
    const init = (view: PodView) => containerState(view.pod, podContainers.init).is;
    await this.#until(watch, (view) => init(view) !== "waiting" || undefined, signal);
    job.onPhase("Initializing");
    await this.#put(watch, pod, job, signal);
    const heard = new AbortController();
    const either = AbortSignal.any([signal, heard.signal]);
    const ended = this.#until(watch, (view) => init(view) === "ended" || undefined, either);
    const telling = this.#keepTelling(pod, either);
    try {
      await Promise.race([ended, telling]);
    } finally {
      heard.abort(new Error("the init container is not waited for any more"));
      await Promise.allSettled([ended, telling]);
    }
    const hasBegun = ({ pod: seen }: PodView) => containerState(seen, podContainers.step).is !== "waiting" || undefined;
    await this.#until(watch, hasBegun, signal);
    const notBegun = programEnd(watch.view)?.notBegun;
    if (notBegun !== undefined) throw notBegun;
    job.onPhase("Running");
  }

  /** Fails with the Pod's own trouble if that is the cause. */
  async #put(watch: PodWatch, pod: PodName, job: StepJob, given: AbortSignal): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([given, over.signal]);
    const compress = this.#options.compress === true;
    const wrong = this.#until<never>(watch, () => undefined, signal);
    const putting = this.#patience.ask(
      () => putRepository(this.#cluster.streams, pod, job, { compress, signal }),
      signal,
    );
    try {
      await Promise.race([putting, wrong]);
    } catch (thrown) {
      // The connection often breaks before the Pod's state shows why.
      await Promise.race([wrong, sleep(this.#options.clock, newsPatience, signal)]);
      throw thrown;
    } finally {
      over.abort(new Error("the repository is there"));
      await Promise.allSettled([putting, wrong]);
    }
  }

  /** The signal may be lost, so it is repeated until the Pod's state shows the effect. */
  async #keepTelling(pod: PodName, signal: AbortSignal): Promise<never> {
    const { clock } = this.#options;
    const stop = clock.monotonic() + this.#patience.longest;
    for (;;) {
      const failure = await endWaiting(this.#cluster.streams, pod, signal).catch((thrown: unknown) => thrown);
      await sleep(clock, 2000, signal);
      if (clock.monotonic() >= stop)
        throw new StepFailure(
          "Transfer",
          `the init container of the Pod did not end: ${messageOf(failure ?? "it was asked to")}`,
        );
    }
  }

  /** Resolves with the first answer; rejects for troubles, transient ones after a while. */
  #until<T>(watch: PodWatch, look: (view: PodView) => T | undefined, signal: AbortSignal): Promise<T> {
    const { clock } = this.#options;
    let since: Millis | undefined;
    let cancel = (): void => undefined;
    return watch
      .until((view) => {
        const answer = look(view);
        if (answer !== undefined) return answer;
        const trouble = podTrouble(view);
        if (trouble === undefined) return undefined;
        if (!trouble.mayPass) throw trouble.failure;
        if (since === undefined) cancel = clock.after(pullPatience, () => watch.lookAgain());
        since ??= clock.monotonic();
        if (clock.monotonic() - since >= pullPatience) throw trouble.failure;
        return undefined;
      }, signal)
      .finally(() => cancel());
  }

  async #follow({ name, watch }: Started, job: StepJob): Promise<StepEnd> {
    const { client, namespace } = this.#cluster;
    const { clock } = this.#options;
    const deaf = new AbortController();
    const closing = AbortSignal.any([this.#steps.closing, deaf.signal]);
    let isCut = false;
    let forget = (): void => undefined;
    const stop = (): void => {
      isCut = true;
      this.#delete(name, Math.ceil(job.graceMs / 1000)).catch(() => undefined);
      // A dead node never reports the end: wait as long as for a cluster, then delete the Pod.
      const longest = job.graceMs + this.#patience.longest;
      forget = clock.after(longest, () => deaf.abort(new Error("the node of the step says nothing any more")));
    };
    if (job.signal.aborted) stop();
    else job.signal.addEventListener("abort", stop, { once: true });
    const over = (view: PodView): PodView | undefined =>
      programEnd(view) !== undefined || podLoss(view) !== undefined ? view : undefined;
    const ended = watch.until(over, closing);
    const reading = new AbortController();
    const output = followPodLog({
      client,
      namespace,
      name,
      log: job.log,
      clock,
      patience: this.#patience,
      hasEnded: () => over(watch.view) !== undefined,
      ended,
      signal: AbortSignal.any([closing, reading.signal]),
    });
    try {
      const [view] = await Promise.all([ended, output]);
      if (isCut) return { status: "Cancelled", exitCode: programEnd(view)?.exitCode ?? null };
      return await this.#endOf(view, { name, watch }, job);
    } finally {
      forget();
      reading.abort(new Error("the step has ended"));
      job.signal.removeEventListener("abort", stop);
    }
  }

  async #endOf(view: PodView, { name, watch }: Started, job: StepJob): Promise<StepEnd> {
    const loss = podLoss(view);
    if (loss !== undefined) throw loss;
    const program = programEnd(view);
    if (program === undefined || isDeleted(view)) throw deletedByOthers(name);
    const end = endOfLife(program, false);
    if (!mayLeave(job.step, this.#options)) return end;
    try {
      // The sidecar may start after the step has ended.
      const isThere = ({ pod }: PodView) => containerState(pod, podContainers.artifacts).is !== "waiting" || undefined;
      await this.#until(watch, isThere, this.#steps.closing);
    } catch (thrown) {
      // The step's own failure matters more.
      if (end.status === "Failed") return end;
      throw thrown;
    }
    return { ...end, artifacts: this.#artifactsOf(name, job, end) };
  }

  #artifactsOf(name: string, job: StepJob, end: StepEnd) {
    const { streams, namespace } = this.#cluster;
    const archiveOf = archivesOf(streams, { namespace, name }, this.#patience, this.#steps.closing);
    const left: LeftFiles = {
      artifacts: archivedFiles(archiveOf, artifactsDirectory),
      project: () => archivedFiles(archiveOf, job.step.workdir),
    };
    return read(keptArtifacts(job, left), () => this.#leave(name, end));
  }

  /** The name makes the request idempotent. */
  async #create(job: StepJob): Promise<Stored> {
    const { client, namespace } = this.#cluster;
    const pod = stepPod(job.step, job.env, this.#podOptions(job.step, job.graceMs));
    const { name = "" } = pod.metadata;
    this.#steps.add(name);
    try {
      return await this.#ask(async () => {
        try {
          return await client.create(Pod, pod);
        } catch (thrown) {
          if (isAlreadyExists(thrown)) return await client.get({ type: Pod, namespace, name });
          throw thrown;
        }
      });
    } catch (thrown) {
      this.#steps.remove(name);
      if (thrown instanceof StepFailure) throw thrown;
      throw new StepFailure("PodCreate", messageOf(thrown));
    }
  }

  #podOptions(step: StepPlan, graceMs: Millis) {
    const { build, images, ownerReferences, pull, keepsFailed = false } = this.#options;
    return {
      name: `${stepNamePrefix(step)}${randomBytes(4).toString("hex")}`,
      namespace: this.#cluster.namespace,
      build,
      stageId: this.#steps.stageId(step.stage),
      owner: thisOwner(),
      ownerReferences,
      images,
      pull,
      graceMs,
      hasArtifacts: mayLeave(step, this.#options),
      isKept: keepsFailed,
    };
  }

  #leave(name: string, { status }: Pick<StepEnd, "status">): void {
    if (status === "Failed" && this.#options.keepsFailed === true) this.#steps.leave(name);
    else this.#steps.remove(name);
  }

  async #deleteNow(name: string): Promise<void> {
    await this.#delete(name, 0).catch((thrown: unknown) =>
      this.#options.onWarning?.(`the Pod ${name} is left: ${messageOf(thrown)}`),
    );
  }

  async #delete(name: string, gracePeriodSeconds: number): Promise<void> {
    const { client, namespace } = this.#cluster;
    await this.#patience.ask(async () => {
      await client.delete({ type: Pod, namespace, name }, { gracePeriodSeconds }).catch(recover(isNotFound, undefined));
    });
  }

  #ask<T>(question: () => Promise<T>): Promise<T> {
    return this.#patience.ask(question, this.#steps.closing);
  }
}

/** True if the step declares files or mentions their directory. */
const mayLeave = (step: StepPlan, { alwaysArtifacts = false }: KubernetesOptions): boolean =>
  alwaysArtifacts ||
  step.artifacts.length + step.testResults.length > 0 ||
  [...(step.entry ?? []), ...step.args].some((word) => word.includes("WHARF_ARTIFACTS_DIR"));

const plainVariables = ({ env }: StepPlan): Readonly<Record<string, string>> =>
  Object.fromEntries(env.flatMap((entry) => ("value" in entry ? [[entry.name, entry.value]] : [])));
