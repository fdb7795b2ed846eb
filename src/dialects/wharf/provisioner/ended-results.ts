import { type Clock, parseInstant } from "#lib/base/index.ts";
import { readBuild } from "../results/read-build.ts";
import { buildFile } from "../results/results.ts";
import { seal } from "../results/seal.ts";
import { readDocument } from "../results/stored-documents.ts";
import type { Observed } from "./backend.ts";
import { type FailedBuild, type Failure, writeFailedResults } from "./failed-results.ts";

export interface ServedResults {
  readonly address: string;
  close(): Promise<void>;
}

export interface Left {
  readonly results: string;
  readonly token: string;
  /** Ends remaining steps before the results are sealed. */
  readonly endSteps: () => Promise<void>;
  readonly unbegun: () => Promise<{ readonly build: FailedBuild; readonly failure: Failure }>;
}

export class EndedResults {
  readonly #serve: (directory: string, token: string) => Promise<ServedResults>;
  readonly #clock: Clock;
  readonly #served = new Map<string, ServedResults>();

  constructor(serve: (directory: string, token: string) => Promise<ServedResults>, clock: Clock) {
    this.#serve = serve;
    this.#clock = clock;
  }

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

  async drop(results: string): Promise<void> {
    await this.#served.get(results)?.close();
    this.#served.delete(results);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#served.keys()].map((results) => this.drop(results)));
  }
}
