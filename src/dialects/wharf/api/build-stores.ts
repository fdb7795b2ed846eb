import { join } from "node:path";
import type { TestSummary } from "../artifact-store/test-counts.ts";
import type { Clock, Logger } from "#lib/base/index.ts";
import type { BuildStatus } from "../kinds.ts";
import type { ResultStores } from "../results-api/parts.ts";

export interface BuildStoresOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether a build exists; undefined while builds are still being read. Results of unknown builds are removed when
   * the stores are opened. */
  readonly known?: () => ((buildId: number) => boolean) | undefined;
}

/** Stores that are opened on first use, so that servers without builds neither load nor create them. */
export class BuildStores {
  readonly #options: BuildStoresOptions;
  #opened: Promise<ResultStores> | undefined;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(options: BuildStoresOptions) {
    this.#options = options;
  }

  open(): Promise<ResultStores> {
    this.#opened ??= this.#open().catch((thrown: unknown) => {
      this.#opened = undefined;
      throw thrown;
    });
    return this.#opened;
  }

  /** Syncs all accepted lines and returns counts, test results and outputs; the message names dropped outputs. */
  async settled(buildId: number): Promise<Pick<BuildStatus, "logs" | "testResults" | "outputs" | "message">> {
    const [{ logs, artifacts }, { testTotals }, { outputsOf }] = await Promise.all([
      this.open(),
      import("../artifact-store/test-counts.ts"),
      import("./build-outputs.ts"),
    ]);
    await logs.flushed(buildId);
    const testResults = testTotals(artifacts, buildId);
    const { outputs, missing } = (await outputsOf(artifacts, buildId)) ?? {};
    return {
      logs: await logs.counts(buildId),
      ...(testResults.total > 0 ? { testResults } : {}),
      ...(outputs === undefined ? {} : { outputs }),
      ...(missing === undefined ? {} : { message: missing }),
    };
  }

  async summaries(buildId: number): Promise<readonly TestSummary[]> {
    const [{ artifacts }, { testSummaries }] = await Promise.all([
      this.open(),
      import("../artifact-store/test-counts.ts"),
    ]);
    return testSummaries(artifacts, buildId);
  }

  async highestNumber(): Promise<number> {
    const { highestNumber } = await import("./removed-builds.ts");
    return await highestNumber(this.#options.directory);
  }

  async remove(buildId: number): Promise<void> {
    await this.#note(buildId);
    const { logs, artifacts } = await this.open();
    await logs.remove(buildId);
    await artifacts.remove(buildId);
  }

  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.logs.close();
  }

  async #note(buildId: number): Promise<void> {
    const { noteRemoved } = await import("./removed-builds.ts");
    const write = (): Promise<void> => noteRemoved(this.#options.directory, buildId);
    const writing = this.#writing.then(write, write);
    this.#writing = writing;
    await writing;
  }

  async #open(): Promise<ResultStores> {
    const { directory, clock, log, known } = this.#options;
    const [{ openLogStore }, { openArtifactStore }] = await Promise.all([
      import("../log-store/log-store.ts"),
      import("../artifact-store/artifact-store.ts"),
    ]);
    const artifacts = await openArtifactStore({ directory: join(directory, "artifacts"), clock });
    const stores = { logs: await openLogStore({ directory: join(directory, "logs"), clock, log }), artifacts };
    const exists = known?.();
    if (exists !== undefined) {
      const { removeOrphans } = await import("./removed-builds.ts");
      await removeOrphans(stores, exists, { log, note: (highest) => this.#note(highest) });
    }
    return stores;
  }
}
