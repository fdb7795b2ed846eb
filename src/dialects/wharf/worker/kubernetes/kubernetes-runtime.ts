// A step's way, each part of which may be cut off by its signal, by the end of the build, and by a cluster that goes away:
//
//     create ─ init waits ─ files in ─ init ends ─ step runs ─┬─ output until it ends ─┬─ files out ─ delete
//                                                             └─ watch until it ends ──┘
//
// The cluster is asked only what may be asked twice: names are ours, unpacking the same again changes nothing, and output is read on from where it
// was cut off. What has become of a Pod is known by its state alone, never by the answer to what was asked of it.

import { randomBytes } from "node:crypto";
import { type Clock, messageOf, type Millis, sleep } from "#lib/base/index.ts";
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
  /** Closed with the runtime. */
  readonly cluster: Cluster;
  /** Whose the Pods are: on their labels, and by which the next worker finds what this one has left. */
  readonly build: BuildIdentity;
  readonly clock: Clock;
  readonly images: HelperImages;
  readonly ownerReferences: readonly OwnerReference[];
  /** For all steps of the build, instead of what they say themselves. */
  readonly pull?: PullPolicy | undefined;
  /** Every step has a container that hands out its artifacts, also one that names none. */
  readonly alwaysArtifacts?: boolean | undefined;
  /** The repository goes there as gzip. */
  readonly compress?: boolean | undefined;
  /** Pods of steps that have failed stay. */
  readonly keepsFailed?: boolean;
  /** Is told of Pods that could not be deleted. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** How long a cluster that is away is waited for; 60 s when absent. */
  readonly patience?: Millis;
}

/** How long an image may fail to be pulled: registries and networks fail for moments. */
const pullPatience: Millis = 60_000;

/** How long the state of a Pod may take to be known. */
const newsPatience: Millis = 2_000;

/** A Pod that is there, and everything that belongs to it while its step is under way. */
interface Started {
  readonly name: string;
  readonly watch: PodWatch;
}

/**
 * Runs steps as Pods of a cluster, each with a copy of the project that was unpacked in it. Secrets and ConfigMaps are the cluster's, by name. What a
 * worker of this machine that was killed has left in the namespace is removed by the next one of its instance.
 */
export class KubernetesStepRuntime implements StepRuntime {
  readonly name = "kubernetes";
  readonly values: ValuePlace;
  readonly #options: KubernetesOptions;
  readonly #cluster: Cluster;
  readonly #patience: Patience;
  /** Their names are those of their Pods. */
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

  /** Also removes what killed workers have left. */
  async check(steps: readonly StepPlan[], signal: AbortSignal) {
    this.#steps.number(steps.map(({ stage }) => stage));
    const found = await checkSteps(steps, this.#cluster, this.#options.images, signal);
    if (!found.some(({ severity }) => severity === "error"))
      await removeLeftovers(this.#cluster, this.#options.build.instance);
    return found;
  }

  /** Has the cluster judge every Pod, and makes none. */
  async preview(steps: readonly StepPlan[], signal: AbortSignal) {
    const found = await checkSteps(steps, this.#cluster, this.#options.images, signal);
    if (found.some(({ severity }) => severity === "error")) return found;
    const pods = steps.map((step) => ({ step, pod: stepPod(step, plainVariables(step), this.#podOptions(step, 0)) }));
    return [...found, ...(await tryPods(pods, this.#cluster, signal))];
  }

  async run(job: StepJob): Promise<StepEnd> {
    return await this.#steps.run(job, async (signal) => await this.#carry(await this.#create(job), job, signal));
  }

  /** Pods that run are deleted without grace. */
  async close(): Promise<void> {
    await this.#steps.close();
    this.#cluster.streams.close();
    await this.#cluster.client.close();
  }

  /** The whole life of a Pod that was created. It goes with its step, at the latest when what the step has left was read. */
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

  /** Answers when the step runs, or has ended already. */
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

  /** Fails by what is wrong with the Pod, where that is why nothing can be brought there. */
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
      // The connection is told first of the end of a container.
      await Promise.race([wrong, sleep(this.#options.clock, newsPatience, signal)]);
      throw thrown;
    } finally {
      over.abort(new Error("the repository is there"));
      await Promise.allSettled([putting, wrong]);
    }
  }

  /** The telling may be lost, or end with what it ends: it is repeated until the Pod shows that it was heard. Rejects when that is hopeless. */
  async #keepTelling(pod: PodName, signal: AbortSignal): Promise<never> {
    const { clock } = this.#options;
    const stop = clock.monotonic() + this.#patience.longest;
    for (;;) {
      const failure = await endWaiting(this.#cluster.streams, pod, signal).catch((thrown: unknown) => thrown);
      await sleep(clock, 2000, signal);
      if (clock.monotonic() >= stop)
        throw new StepFailure(
          "Transfer",
          `the init container of the Pod did not end: ${messageOf(failure ?? "it was told to")}`,
        );
    }
  }

  /** The first answer to a state of the Pod, unless something is wrong with it. What may pass is given its time. */
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

  /** To the end of the program and of its output. */
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
      // Of a node that is dead nobody says that the step has ended: it is waited for as long as for a cluster, then its Pod goes without a word.
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

  /** How the step has ended by the state of its Pod, with what it has left. */
  async #endOf(view: PodView, { name, watch }: Started, job: StepJob): Promise<StepEnd> {
    const loss = podLoss(view);
    if (loss !== undefined) throw loss;
    const program = programEnd(view);
    if (program === undefined || isDeleted(view)) throw deletedByOthers(name);
    const end = endOfLife(program, false);
    if (!mayLeave(job.step, this.#options)) return end;
    try {
      // It began beside the step, which may have been quicker.
      const isThere = ({ pod }: PodView) => containerState(pod, podContainers.artifacts).is !== "waiting" || undefined;
      await this.#until(watch, isThere, this.#steps.closing);
    } catch (thrown) {
      // Why the step has failed matters more than what it may have left.
      if (end.status === "Failed") return end;
      throw thrown;
    }
    return { ...end, artifacts: this.#artifactsOf(name, job, end) };
  }

  /** Read once; the Pod goes afterwards. */
  #artifactsOf(name: string, job: StepJob, end: StepEnd) {
    const { streams, namespace } = this.#cluster;
    const archiveOf = archivesOf(streams, { namespace, name }, this.#patience, this.#steps.closing);
    const left: LeftFiles = {
      artifacts: archivedFiles(archiveOf, artifactsDirectory),
      project: () => archivedFiles(archiveOf, job.step.workdir),
    };
    return read(keptArtifacts(job, left), () => this.#leave(name, end));
  }

  /** A name of its own, so that an answer that was lost can be asked for again. */
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
          // Nobody else gives it this name.
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

  /** What has failed may be wanted for a look at it. */
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
      try {
        await client.delete({ type: Pod, namespace, name }, { gracePeriodSeconds });
      } catch (thrown) {
        if (!isNotFound(thrown)) throw thrown;
      }
    });
  }

  #ask<T>(question: () => Promise<T>): Promise<T> {
    return this.#patience.ask(question, this.#steps.closing);
  }
}

/** Files are wanted that were declared; and those of a step whose commands say where they are left. */
const mayLeave = (step: StepPlan, { alwaysArtifacts = false }: KubernetesOptions): boolean =>
  alwaysArtifacts ||
  step.artifacts.length + step.testResults.length > 0 ||
  [...(step.entry ?? []), ...step.args].some((word) => word.includes("WHARF_ARTIFACTS_DIR"));

/** Those of the plan that are no secrets, before anything was looked up. */
const plainVariables = ({ env }: StepPlan): Readonly<Record<string, string>> =>
  Object.fromEntries(env.flatMap((entry) => ("value" in entry ? [[entry.name, entry.value]] : [])));
