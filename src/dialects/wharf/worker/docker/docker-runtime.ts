// The steps of a run: image, create, files in, start, output and wait, files out, remove. Each may be interrupted by
// the step's signal, the build's end or the engine going away. Requests are idempotent: names are chosen here, and
// output is resumed where it broke.

import { type Clock, deferred, messageOf, type Millis, orAborted } from "#lib/base/index.ts";
import type { ContainerEngine, EngineContainer, Refused, RegistryLogin } from "#kernel/runtimes/index.ts";
import { type BuildIdentity, instanceLabel, labelValue, stepLabel, stepNamePrefix } from "../step-labels.ts";
import { isOwnerGone, keepLabel, ownerLabel, thisOwner } from "./owner-label.ts";
import { StepFailure } from "../step-failure.ts";
import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import type { StepPlan } from "../../plan/step-plan.ts";
import { keptArtifacts } from "../kept-artifacts.ts";
import { endOfLife } from "../program-end.ts";
import type { StepEnd, StepJob, StepRuntime } from "../step-runtime.ts";
import { buildImage, type ImageBuilder } from "./build-image.ts";
import { checkSteps, missingImages } from "./check-steps.ts";
import { type ContainerLimits, containerSettings } from "./container-words.ts";
import { Images, type PullPolicy } from "./images.ts";
import { Patience } from "../patience.ts";
import { read, StepsAway } from "../steps-away.ts";
import { archiveWorkspace, boundWorkspace, type Workspace } from "./workspace.ts";

export interface DockerOptions {
  readonly engine: ContainerEngine;
  readonly build: BuildIdentity;
  readonly clock: Clock;
  /** For all images; the pull policy of steps is meant for Kubernetes. */
  readonly pull: PullPolicy;
  readonly logins: (image: string) => Promise<readonly RegistryLogin[]>;
  readonly builder?: ImageBuilder;
  readonly repo?: "archive" | "bind";
  readonly limits?: ContainerLimits;
  readonly keepsFailed?: boolean;
  readonly onWarning?: ((message: string) => void) | undefined;
  readonly patience?: Millis;
}

/** Concurrent starts slow each other down. */
const startsPerCore = 2;

interface Started {
  readonly id: string;
  readonly workspace: Workspace;
}

/** Runs steps as containers of a local or remote Docker Engine. Containers of killed workers are removed by the next
 * worker of the instance. */
export class DockerStepRuntime implements StepRuntime {
  readonly name = "docker";
  readonly #options: DockerOptions;
  readonly #engine: ContainerEngine;
  readonly #patience: Patience;
  readonly #images: Images;
  readonly #turns = new Turns(startsPerCore * availableParallelism());
  readonly #steps = new StepsAway((id) => this.#delete(id));
  /** False once the engine has reported that it lacks one. */
  #hasInit = true;

  constructor(options: DockerOptions) {
    const { engine, clock, pull, logins, patience } = options;
    this.#options = options;
    this.#engine = engine;
    this.#patience = new Patience(clock, patience);
    this.#images = new Images({ engine, patience: this.#patience, pull, logins, clock, signal: this.#steps.closing });
  }

  /** Also removes leftovers of killed workers and starts pulling images. */
  async check(steps: readonly StepPlan[], signal: AbortSignal) {
    const found = await checkSteps(steps, this.#engine, signal);
    if (found.some(({ severity }) => severity === "error")) return found;
    this.#steps.number(steps.map(({ stage }) => stage));
    await removeLeftovers(this.#engine, this.#options.build.instance);
    for (const step of steps) if (!this.#isBuilt(step)) this.#images.ahead(step.image);
    return found;
  }

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

  async close(): Promise<void> {
    await this.#steps.close();
    this.#engine.close();
  }

  #isBuilt({ type }: StepPlan): boolean {
    return type === "docker" && this.#options.builder !== "kaniko";
  }

  /** Starts a container; repeated once if the engine lacks its init program, which it only reports at the start. */
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

  /** Bind mounts need a local engine and an image that runs as root. */
  #workspaceOf(job: StepJob, user: string): Workspace {
    const isBound = this.#options.repo === "bind" && this.#engine.isLocal && isRoot(user);
    return isBound ? boundWorkspace(this.#engine, job) : archiveWorkspace(this.#engine, job, !isRoot(user));
  }

  /** The name makes the request idempotent. */
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

  async #follow({ id, workspace }: Started, job: StepJob): Promise<StepEnd> {
    const { signal, graceMs, log } = job;
    let isCut = false;
    const stop = (): void => {
      isCut = true;
      // A container that cannot be stopped is killed by removing it.
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

  async #leave({ id, workspace }: Started, job: StepJob, end: StepEnd): Promise<StepEnd> {
    const isKept = end.status === "Failed" && this.#options.keepsFailed === true;
    const remove = (): void => (isKept ? this.#steps.leave(id) : this.#steps.remove(id));
    const left = await this.#ask(() => workspace.left(id)).catch((thrown: unknown) => {
      // The engine is usually removing the container. The step reports that it was killed, not that its files could
      // not be read.
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

const isRoot = (user: string): boolean => /^(?:|root|0)(?::.*)?$/.test(user);

type Life = EngineContainer["life"];

export const notCreated = (image: string, { message }: Refused): StepFailure =>
  /no such image/i.test(message)
    ? new StepFailure("ImageMissing", `image "${image}" is not present: ${message}`)
    : new StepFailure("ContainerCreate", message);

export function notStarted({ message, isProgramMissing }: Refused): StepFailure {
  if (isProgramMissing) return new StepFailure("NotFound", message, 127);
  const isForbidden = /permission denied|is a directory|exec format error/i.test(message);
  return isForbidden ? new StepFailure("NotExecutable", message, 126) : new StepFailure("ContainerStart", message);
}

export const lacksInit = ({ message }: Refused): boolean => /docker-init|init binary/i.test(message);

/** Waits, across restarts of the engine, until the container has ended. */
async function lifeAtEnd(
  engine: ContainerEngine,
  id: string,
  ask: <T>(question: () => Promise<T>) => Promise<T>,
): Promise<Life> {
  for (;;) {
    await ask(() => engine.ended(id));
    const found = await ask(() => engine.find(id));
    if (found === undefined)
      throw new StepFailure("ContainerGone", "the container of the step was removed by another process");
    if (!found.life.isRunning) return found.life;
  }
}

/** Removes containers of killed workers except kept ones and returns their number. */
async function removeLeftovers(engine: ContainerEngine, instance: string): Promise<number> {
  const found = await engine.containersWith(
    `app=${stepLabel.app}`,
    `${instanceLabel}=${labelValue(instance)}`,
    ownerLabel,
  );
  const left = found.filter(({ labels }) => labels[keepLabel] === undefined && isOwnerGone(labels[ownerLabel] ?? ""));
  for (const { id } of left) await engine.remove(id);
  return left.length;
}

/** Runs at most `atOnce` tasks at a time, in order of arrival. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else {
      const turn = deferred<void>();
      this.#waiting.push(() => turn.resolve());
      await turn.promise;
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
