import { type Clock, getOrAdd, messageOf, type Millis, sleep } from "#lib/base/index.ts";
import type { ContainerEngine, ImageFacts, RegistryLogin } from "#kernel/runtimes/index.ts";
import type { Patience } from "../patience.ts";
import { StepFailure } from "../step-failure.ts";

export type PullPolicy = "always" | "missing" | "never";

export interface ImagesOptions {
  readonly engine: ContainerEngine;
  readonly patience: Patience;
  readonly pull: PullPolicy;
  readonly logins: (image: string) => Promise<readonly RegistryLogin[]>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const pauses: readonly Millis[] = [1_000, 4_000];

const isFinal = (words: string): boolean =>
  /denied|unauthorized|forbidden|not found|manifest unknown|invalid reference|no basic auth/i.test(words);

export class Images {
  readonly #options: ImagesOptions;
  readonly #found = new Map<string, Promise<ImageFacts>>();

  constructor(options: ImagesOptions) {
    this.#options = options;
  }

  ahead(image: string): void {
    this.ensure(image).catch(() => undefined);
  }

  /** Rejects with a `StepFailure`: `ImageMissing`, `ImagePull`, `RuntimeLost`. */
  ensure(image: string): Promise<ImageFacts> {
    return getOrAdd(this.#found, image, () => this.#ensure(image));
  }

  async #ensure(image: string): Promise<ImageFacts> {
    const { engine, patience, pull } = this.#options;
    const find = () => patience.ask(() => engine.findImage(image), this.#options.signal);
    const here = pull === "always" ? undefined : await find();
    if (here !== undefined) return here;
    if (pull === "never")
      throw new StepFailure("ImageMissing", `image "${image}" is not present and --pull=never forbids pulling it`);
    await this.#pull(image);
    const pulled = await find();
    if (pulled === undefined) throw new StepFailure("ImageMissing", `image "${image}" is not present after pulling it`);
    return pulled;
  }

  async #pull(image: string): Promise<void> {
    const { engine, patience, logins, clock, signal } = this.#options;
    const known = await logins(image);
    for (let attempt = 0; ; attempt++) {
      try {
        return await patience.ask(() => engine.pull(image, known, signal), signal);
      } catch (thrown) {
        signal.throwIfAborted();
        if (thrown instanceof StepFailure) throw thrown;
        const words = messageOf(thrown);
        const pause = pauses[attempt];
        if (pause === undefined || isFinal(words)) throw new StepFailure("ImagePull", words);
        await sleep(clock, pause, signal);
      }
    }
  }
}
