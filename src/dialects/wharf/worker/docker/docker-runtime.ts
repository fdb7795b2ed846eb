// A step's way, each part of which may be cut off by its signal, by the end of the build, and by an engine that goes away:
//
//     image ─ create ─ files in ─ (turn) start ─┬─ output until it ends ─┬─ files out ─ remove
//                                               └─ wait until it ends ───┘
//
// The engine is asked only what may be asked twice: names are ours, starting what runs and removing what is gone are no errors, and output is
// read on from where it was cut off.

import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { type Clock, messageOf, type Millis, orAborted } from "#lib/base/index.ts";
import type { ContainerEngine, RegistryLogin } from "#kernel/runtimes/index.ts";
import type { StepPlan } from "../../plan/step-plan.ts";
import { keptArtifacts } from "../kept-artifacts.ts";
import { endOfLife } from "../program-end.ts";
import { type BuildIdentity, stepNamePrefix } from "../step-labels.ts";
import type { StepEnd, StepJob, StepRuntime } from "../step-runtime.ts";
import { buildImage, type ImageBuilder } from "./build-image.ts";
import { checkSteps, missingImages } from "./check-steps.ts";
import { type ContainerLimits, containerSettings } from "./container-words.ts";
import { lacksInit, lifeAtEnd, notCreated, notStarted } from "./ending.ts";
import { Images, type PullPolicy } from "./images.ts";
import { removeLeftovers } from "./leftovers.ts";
import { thisOwner } from "./owner-label.ts";
import { Patience } from "../patience.ts";
import { read, StepsAway } from "../steps-away.ts";
import { Turns } from "./turns.ts";
import { archiveWorkspace, boundWorkspace, type Workspace } from "./workspace.ts";

export interface DockerOptions {
  /** Closed with the runtime. */
  readonly engine: ContainerEngine;
  /** Whose the containers are: on their labels, and by which the next worker finds what this one has left. */
  readonly build: BuildIdentity;
  readonly clock: Clock;
  /** For all images of the build; what steps say themselves is meant for Kubernetes. */
  readonly pull: PullPolicy;
  /** Logins of this machine that are meant for an image. */
  readonly logins: (image: string) => Promise<readonly RegistryLogin[]>;
  /** Of the images of `docker` steps; the engine when absent. */
  readonly builder?: ImageBuilder;
  /** How containers come to the repository; see `workspace.ts`. Archives when absent. */
  readonly repo?: "archive" | "bind";
  /** For each step alike. */
  readonly limits?: ContainerLimits;
  /** Containers of steps that have failed stay. */
  readonly keepsFailed?: boolean;
  /** Is told of containers that could not be removed. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** How long an engine that is away is waited for; 60 s when absent. */
  readonly patience?: Millis;
}

/** Starts that are under way; more of them at once make all of them slower. */
const startsPerCore = 2;

/** A container that runs, and its files. */
interface Started {
  readonly id: string;
  readonly workspace: Workspace;
}

/**
 * Runs steps as containers of a Docker Engine, which need not be on this machine: files go in and come out as archives, and nothing of the machine
 * is mounted. What a worker that was killed has left in the engine is removed by the next one of its instance.
 */
export class DockerStepRuntime implements StepRuntime {
  readonly name = "docker";
  readonly #options: DockerOptions;
  readonly #engine: ContainerEngine;
  readonly #patience: Patience;
  readonly #images: Images;
  readonly #turns = new Turns(startsPerCore * availableParallelism());
  /** Their names are the ids of their containers. */
  readonly #steps = new StepsAway((id) => this.#delete(id));
  /** Until the engine says that it has none. */
  #hasInit = true;

  constructor(options: DockerOptions) {
    const { engine, clock, pull, logins, patience } = options;
    this.#options = options;
    this.#engine = engine;
    this.#patience = new Patience(clock, patience);
    this.#images = new Images({ engine, patience: this.#patience, pull, logins, clock, signal: this.#steps.closing });
  }

  /** Also removes what killed workers have left, and begins to fetch images that are missing. */
  async check(steps: readonly StepPlan[], signal: AbortSignal) {
    const found = await checkSteps(steps, this.#engine, signal);
    if (found.some(({ severity }) => severity === "error")) return found;
    this.#steps.number(steps.map(({ stage }) => stage));
    await removeLeftovers(this.#engine, this.#options.build.instance);
    for (const step of steps) if (!this.#isBuilt(step)) this.#images.ahead(step.image);
    return found;
  }

  /** Looks at the engine and its images, and leaves both as they are. */
  async preview(steps: readonly StepPlan[], signal: AbortSignal) {
    const found = await checkSteps(steps, this.#engine, signal);
    if (found.some(({ severity }) => severity === "error")) return found;
    const used = steps.filter((step) => !this.#isBuilt(step));
    return [...found, ...(await missingImages(used, this.#engine, this.#options.pull))];
  }

  async run(job: StepJob): Promise<StepEnd> {
    return await this.#steps.run(job, async (signal) => {
      if (this.#isBuilt(job.step)) return await buildImage({ ...job, signal }, this.#options);
      return await this.#follow(await this.#start(job, signal), job);
    });
  }

  /** Containers that run are killed by being removed. */
  async close(): Promise<void> {
    await this.#steps.close();
    this.#engine.close();
  }

  /** By the engine itself: no container of the step's own runs then. */
  #isBuilt({ type }: StepPlan): boolean {
    return type === "docker" && this.#options.builder !== "kaniko";
  }

  /**
   * Answers a container that runs. Once in a build it is made twice: an engine whose distribution has left out the program that begins containers
   * says so only when it is to start one.
   */
  async #start(job: StepJob, signal: AbortSignal): Promise<Started> {
    const image = await orAborted(this.#images.ensure(job.step.image), signal);
    const workspace = this.#workspaceOf(job, image.user);
    await workspace.prepare(signal);
    for (;;) {
      const [hasInit, id] = [this.#hasInit, await this.#create(job, workspace)];
      try {
        signal.throwIfAborted();
        job.onPhase("Initializing");
        await this.#ask(() => workspace.fill(id, signal), signal);
        const started = await this.#turns.take(() => this.#ask(() => this.#startUnless(id, signal)));
        if (started.ok) {
          job.onPhase("Running");
          return { id, workspace };
        }
        if (!hasInit || !lacksInit(started.error)) throw notStarted(started.error);
      } catch (thrown) {
        this.#steps.remove(id);
        throw thrown;
      }
      this.#hasInit = false;
      this.#steps.remove(id);
    }
  }

  #startUnless(id: string, signal: AbortSignal) {
    signal.throwIfAborted();
    return this.#engine.start(id);
  }

  /** Archives, unless directories were asked for and can be had: the engine has to see them, and their files belong to root. */
  #workspaceOf(job: StepJob, user: string): Workspace {
    const isBound = this.#options.repo === "bind" && this.#engine.isLocal && isRoot(user);
    return isBound ? boundWorkspace(this.#engine, job) : archiveWorkspace(this.#engine, job, !isRoot(user));
  }

  /** A name of its own, so that an answer that was lost can be asked for again. */
  async #create(job: StepJob, { mounts }: Workspace): Promise<string> {
    const { build, limits = {}, keepsFailed = false } = this.#options;
    const settings = containerSettings(job, {
      build,
      stageId: this.#steps.stageId(job.step.stage),
      owner: thisOwner(),
      limits,
      isKept: keepsFailed,
      mounts,
      hasInit: this.#hasInit,
    });
    const name = `${stepNamePrefix(job.step)}${randomBytes(5).toString("hex")}`;
    const made = await this.#ask(async () => {
      const answer = await this.#engine.create(name, settings);
      const found = answer.ok ? undefined : await this.#engine.find(name);
      return found === undefined ? answer : { ok: true as const, value: found.id };
    });
    if (!made.ok) throw notCreated(job.step.image, made.error);
    this.#steps.add(made.value);
    return made.value;
  }

  /** To the end of the container and of its output. */
  async #follow({ id, workspace }: Started, job: StepJob): Promise<StepEnd> {
    const { signal, graceMs, log } = job;
    let isCut = false;
    const stop = (): void => {
      isCut = true;
      // What cannot be stopped is killed by being removed.
      this.#ask(() => this.#engine.stop(id, graceMs)).catch(() => this.#steps.remove(id));
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    try {
      const reader = this.#engine.output(id, {
        take: (...piece) => log.append(...piece),
        drained: () => log.drained(),
      });
      const output = this.#ask(() => reader.follow(this.#steps.closing));
      const [life] = await Promise.all([lifeAtEnd(this.#engine, id, (question) => this.#ask(question)), output]);
      await this.#ask(() => reader.rest(this.#steps.closing));
      const outOfMemory = !isCut && (await this.#ask(() => this.#engine.ranOutOfMemory(id, life)));
      return await this.#leave({ id, workspace }, job, endOfLife({ ...life, outOfMemory }, isCut));
    } catch (thrown) {
      this.#steps.remove(id);
      throw thrown;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** The container goes when what it has left was read; at the latest, should nobody want that, with the build. */
  async #leave({ id, workspace }: Started, job: StepJob, end: StepEnd): Promise<StepEnd> {
    const isKept = end.status === "Failed" && this.#options.keepsFailed === true;
    const remove = (): void => (isKept ? this.#steps.leave(id) : this.#steps.remove(id));
    const left = await this.#ask(() => workspace.left(id)).catch((thrown: unknown) => {
      // The engine is usually removing the container. The step reports that it was killed, not that its files could not be read.
      if (end.reason !== "Signal") throw thrown;
      this.#options.onWarning?.(`the files of a killed container cannot be read: ${messageOf(thrown)}`);
      return undefined;
    });
    if (left === undefined) remove();
    return left === undefined ? end : { ...end, artifacts: read(keptArtifacts(job, left), remove) };
  }

  async #delete(id: string): Promise<void> {
    await this.#patience
      .ask(() => this.#engine.remove(id))
      .catch((thrown: unknown) =>
        this.#options.onWarning?.(`the container ${id.slice(0, 12)} is left: ${messageOf(thrown)}`),
      );
  }

  #ask<T>(question: () => Promise<T>, signal: AbortSignal = this.#steps.closing): Promise<T> {
    return this.#patience.ask(question, signal);
  }
}

/** An image that names no user runs as root. */
const isRoot = (user: string): boolean => /^(?:|root|0)(?::.*)?$/.test(user);
