import { type Clock, parseInstant } from "#lib/base/index.ts";
import { readBuild } from "../results/read-build.ts";
import { buildFile } from "../results/results.ts";
import { seal } from "../results/seal.ts";
import { readDocument } from "../results/stored-documents.ts";
import type { Observed } from "./backend.ts";
import { type FailedBuild, type Failure, writeFailedResults } from "./failed-results.ts";

/** Results that are served by this process, for a worker that has died. */
export interface ServedResults {
  readonly address: string;
  close(): Promise<void>;
}

/** What a worker that is no more has left on this machine. */
export interface Left {
  /** The directory of its results; nothing need be in it. */
  readonly results: string;
  /** What whoever reads them has to present. */
  readonly token: string;
  /** Carried out before results are closed that the worker has not closed itself: ends what still works for it. */
  readonly endSteps: () => Promise<void>;
  /** What there is to tell where no build has begun. */
  readonly unbegun: () => Promise<{ readonly build: FailedBuild; readonly failure: Failure }>;
}

/** Results of workers that are no more: each is closed once, and served from here until it is dropped. */
export class EndedResults {
  readonly #serve: (directory: string, token: string) => Promise<ServedResults>;
  readonly #clock: Clock;
  /** By their directories. */
  readonly #served = new Map<string, ServedResults>();

  /** `serve` serves the results of a build that has ended to those who present the token. */
  constructor(serve: (directory: string, token: string) => Promise<ServedResults>, clock: Clock) {
    this.#serve = serve;
    this.#clock = clock;
  }

  /** Closes and serves what is left, unless both was done before; what there is to see then. */
  async observe({ results, token, endSteps, unbegun }: Left): Promise<Observed> {
    if ((await readDocument(buildFile(results))) === undefined) {
      const { build, failure } = await unbegun();
      await writeFailedResults(results, build, failure, this.#clock);
    }
    const before = await readBuild(results);
    if (!before.frozen) {
      await endSteps();
      await seal(results, this.#clock.now());
    }
    const { status, finishedAt, message } = before.frozen ? before : await readBuild(results);
    const served = this.#served.get(results) ?? (await this.#serve(results, token));
    this.#served.set(results, served);
    const at = finishedAt === null ? undefined : parseInstant(finishedAt);
    return { phase: "finished", isAlive: false, status, address: served.address, finishedAt: at, message };
  }

  /** Serves them no longer. Nothing when they were not served. */
  async drop(results: string): Promise<void> {
    await this.#served.get(results)?.close();
    this.#served.delete(results);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#served.keys()].map((results) => this.drop(results)));
  }
}
