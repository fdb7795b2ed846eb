import { join } from "node:path";
import type { TestSummary } from "../artifact-store/test-counts.ts";
import type { Clock, Logger } from "#lib/base/index.ts";
import type { BuildStatus } from "../kinds.ts";
import type { ResultStores } from "../results-api/parts.ts";

/** Where stores are. */
export interface BuildStoresOptions {
  /** Theirs alone, and used by one process at a time; made when it is missing. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether there is a build of a number; undefined while not all are known. What is stored of others is removed when the stores are opened. */
  readonly known?: () => ((buildId: number) => boolean) | undefined;
}

/**
 * The stores of a server: opened by the first who asks, so that a server without builds neither loads them nor makes directories. Close it when
 * nobody asks any more.
 */
export class BuildStores {
  readonly #options: BuildStoresOptions;
  #opened: Promise<ResultStores> | undefined;
  /** Removals write down their number one after the other. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(options: BuildStoresOptions) {
    this.#options = options;
  }

  /** Tried again by the next one who asks when it has failed. */
  open(): Promise<ResultStores> {
    this.#opened ??= this.#open().catch((thrown: unknown) => {
      this.#opened = undefined;
      throw thrown;
    });
    return this.#opened;
  }

  /**
   * Resolves when every line that was accepted of a build is on the disk, with how many there are, how its tests ended and what it hands on; the
   * message says what of that there is no room for.
   */
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

  /** Of the files of test results of a build, as clients know them. */
  async summaries(buildId: number): Promise<readonly TestSummary[]> {
    const [{ artifacts }, { testSummaries }] = await Promise.all([
      this.open(),
      import("../artifact-store/test-counts.ts"),
    ]);
    return testSummaries(artifacts, buildId);
  }

  /** The highest number of what is here or was: numbers are given above it. */
  async highestNumber(): Promise<number> {
    const { highestNumber } = await import("./removed-builds.ts");
    return await highestNumber(this.#options.directory);
  }

  /** Removes everything of a build, after its number was written down. Idempotent. */
  async remove(buildId: number): Promise<void> {
    await this.#note(buildId);
    const { logs, artifacts } = await this.open();
    await logs.remove(buildId);
    await artifacts.remove(buildId);
  }

  /** Everything on the disk, everything closed. */
  async close(): Promise<void> {
    // What could not be opened was told to who asked for it.
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.logs.close();
  }

  /** Writes down that builds up to this number may have been removed. */
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
