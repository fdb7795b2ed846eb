import { type Clock, messageOf, type Millis, sleep } from "#lib/base/index.ts";
import type { ContainerEngine, ImageFacts, RegistryLogin } from "#kernel/runtimes/index.ts";
import type { Patience } from "../patience.ts";
import { StepFailure } from "../step-failure.ts";

/** When an image is fetched: each time a build needs it, when it is not there, or not at all. */
export type PullPolicy = "always" | "missing" | "never";

export interface ImagesOptions {
  readonly engine: ContainerEngine;
  /** With an engine that is away while it is asked. */
  readonly patience: Patience;
  readonly pull: PullPolicy;
  /** Logins of this machine that are meant for an image. */
  readonly logins: (image: string) => Promise<readonly RegistryLogin[]>;
  readonly clock: Clock;
  /** Ends what is fetched for nobody any more. */
  readonly signal: AbortSignal;
}

/** Pauses before further tries: a registry that is busy is not by then. */
const pauses: readonly Millis[] = [1_000, 4_000];

/** What does not change by asking again. */
const isFinal = (words: string): boolean =>
  /denied|unauthorized|forbidden|not found|manifest unknown|invalid reference|no basic auth/i.test(words);

/** The images of one build. Each is looked for and fetched once, however many steps want it. */
export class Images {
  readonly #options: ImagesOptions;
  readonly #found = new Map<string, Promise<ImageFacts>>();

  constructor(options: ImagesOptions) {
    this.#options = options;
  }

  /** Begins to fetch before anybody needs it. What goes wrong is told to who does. */
  ahead(image: string): void {
    this.ensure(image).catch(() => undefined);
  }

  /** The image, with a remark when it had to be fetched. Rejects with a `StepFailure`: `ImageMissing`, `ImagePull`, `RuntimeLost`. */
  ensure(image: string): Promise<ImageFacts> {
    const known = this.#found.get(image) ?? this.#ensure(image);
    this.#found.set(image, known);
    return known;
  }

  /** A policy that never fetches still needs the engine to say that the image is there, and who its user is. */
  async #ensure(image: string): Promise<ImageFacts> {
    const { engine, patience, pull } = this.#options;
    const find = () => patience.ask(() => engine.findImage(image), this.#options.signal);
    const here = pull === "always" ? undefined : await find();
    if (here !== undefined) return here;
    if (pull === "never")
      throw new StepFailure("ImageMissing", `the engine has no image "${image}", and --pull never forbids to fetch it`);
    await this.#pull(image);
    const pulled = await find();
    if (pulled === undefined)
      throw new StepFailure("ImageMissing", `the engine has no image "${image}" after fetching it`);
    return pulled;
  }

  /** The registry's words decide whether another try makes sense; they are told when it does not. */
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
