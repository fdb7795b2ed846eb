import { randomUUID } from "node:crypto";
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, codeOf, inParallel, type Logger, messageOf, silentLog } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { type BuildLog, type Inserted, type LogParts, openBuildLog } from "./build-log.ts";
import { logError } from "./errors.ts";
import { createFilePool } from "./file-pool.ts";
import { type BuildFollowing, followBuild, followStep, PageReader, type StepFollowing } from "./follow-build.ts";
import type { LogPage } from "./read-page.ts";
import type { NewLine, StoredLine } from "./record.ts";
import { viewStep } from "./step-view.ts";

//   {directory}/{buildId}/{stepId}.log    records, see record.ts
//   {directory}/.removed/                 on its way out

const mostIdle = 256;

export interface LogStoreOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly log?: Logger;
  readonly openFiles?: number;
  readonly idleBuilds?: number;
}

export interface StepCursor {
  readonly stepId: number;
  readonly lastWorkerLogId: number;
}

export interface LogCounts {
  readonly lines: number;
  readonly bytes: number;
}

/** Keeps a build's log open for a sender, so that lines lost in between are noticed. Must be closed. */
export interface LogIntake extends Pick<BuildLog, "written" | "flushed"> {
  insert(lines: readonly NewLine[]): Promise<Inserted>;
  close(): void;
}

interface Opened {
  readonly build: Promise<BuildLog>;
  reader: PageReader | undefined;
  users: number;
}

/** Opens the store and finishes interrupted removals. */
export async function openLogStore(options: LogStoreOptions): Promise<LogStore> {
  await makeDirectories(join(options.directory, removed), 0o700);
  await rm(join(options.directory, removed), { recursive: true, force: true });
  await makeDirectories(join(options.directory, removed), 0o700);
  return new LogStore(options);
}

const removed = ".removed";

/** Logs of builds as workers deliver them: each line once, in any order. The caller checks that the build exists. */
export class LogStore {
  readonly #directory: string;
  readonly #idleBuilds: number;
  readonly #parts: LogParts;
  readonly #builds = new Map<number, Opened>();
  readonly #leaving = new Map<number, Promise<void>>();
  #closed = false;

  constructor({ directory, clock, log = silentLog, openFiles, idleBuilds = mostIdle }: LogStoreOptions) {
    this.#directory = directory;
    this.#idleBuilds = idleBuilds;
    this.#parts = { pool: createFilePool(openFiles), clock, log };
  }

  /** Stores new lines; a line is identified by step and workerLogId, lines without one (0) are always new. Resolves
   * when accepted, or synced with `isDurable`. Rejects with `log-lost`; repeating is harmless. */
  async insert(buildId: number, lines: readonly NewLine[], isDurable = false): Promise<Inserted> {
    const intake = await this.intake(buildId);
    try {
      const result = await intake.insert(lines);
      if (isDurable) await intake.flushed();
      return result;
    } finally {
      intake.close();
    }
  }

  async intake(buildId: number): Promise<LogIntake> {
    const opened = this.#acquire(buildId);
    try {
      const build = await opened.build;
      return {
        insert: (lines) => build.insert(lines),
        written: () => build.written(),
        flushed: () => build.flushed(),
        close: () => this.#release(buildId, opened),
      };
    } catch (thrown) {
      this.#release(buildId, opened);
      throw thrown;
    }
  }

  flushed(buildId: number): Promise<void> {
    return this.#use(buildId, (build) => build.flushed());
  }

  cursors(buildId: number): Promise<readonly StepCursor[]> {
    return this.#use(buildId, async (build) =>
      [...build.segments]
        .map(({ stepId, ids }) => ({ stepId, lastWorkerLogId: ids.prefix }))
        .toSorted((a, b) => a.stepId - b.stepId),
    );
  }

  counts(buildId: number): Promise<LogCounts> {
    return this.#use(buildId, async (build) => {
      const counts = { lines: 0, bytes: 0 };
      for (const { lines, textBytes } of build.segments) {
        counts.lines += lines;
        counts.bytes += textBytes;
      }
      return counts;
    });
  }

  async *lines(buildId: number, following: BuildFollowing): AsyncGenerator<LogPage, void> {
    const opened = this.#acquire(buildId);
    try {
      const build = await opened.build;
      opened.reader ??= new PageReader(build, this.#parts.pool);
      if (following.until === undefined) await build.written();
      const { after = following.until === undefined ? 0 : build.accepted, ...rest } = following;
      yield* followBuild(build, opened.reader, { ...rest, after });
    } finally {
      this.#release(buildId, opened);
    }
  }

  async *step(buildId: number, stepId: number, after?: number): AsyncGenerator<readonly StoredLine[], void> {
    const opened = this.#acquire(buildId);
    try {
      const build = await opened.build;
      await build.written();
      yield* viewStep(build, stepId, this.#parts.pool, after);
    } finally {
      this.#release(buildId, opened);
    }
  }

  async *followStep(
    buildId: number,
    stepId: number,
    following: StepFollowing,
  ): AsyncGenerator<readonly StoredLine[], void> {
    const opened = this.#acquire(buildId);
    try {
      yield* followStep(await opened.build, stepId, this.#parts.pool, following);
    } finally {
      this.#release(buildId, opened);
    }
  }

  /** Durable and idempotent. Followers are cut off. */
  async remove(buildId: number): Promise<void> {
    const opened = this.#builds.get(buildId);
    this.#builds.delete(buildId);
    await this.#leave(buildId, async () => {
      const build = await opened?.build.catch(() => undefined);
      await build?.remove();
      const [from, to] = [this.#pathOf(buildId), join(this.#directory, removed, randomUUID())];
      await this.#parts.pool.forget((path) => path.startsWith(`${from}/`));
      try {
        await rename(from, to);
      } catch (thrown) {
        if (codeOf(thrown) === "ENOENT") return;
        throw thrown;
      }
      await rm(to, { recursive: true, force: true });
    });
  }

  async builds(): Promise<readonly number[]> {
    const names = await readdir(this.#directory);
    return names
      .filter((name) => /^[1-9]\d{0,15}$/.test(name))
      .map(Number)
      .toSorted((a, b) => a - b);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#leaving.values());
    await inParallel([...this.#builds.values()], async ({ build }) => (await build.catch(() => undefined))?.close());
    this.#builds.clear();
    await this.#parts.pool.close();
  }

  #pathOf(buildId: number): string {
    return join(this.#directory, `${buildId}`);
  }

  async #use<T>(buildId: number, work: (build: BuildLog) => Promise<T>): Promise<T> {
    const opened = this.#acquire(buildId);
    try {
      return await work(await opened.build);
    } finally {
      this.#release(buildId, opened);
    }
  }

  #acquire(buildId: number): Opened {
    if (this.#closed) throw logError("log-closed", "the log store is closed");
    const opened: Opened = this.#builds.get(buildId) ?? {
      build: this.#open(buildId, () => this.#close(buildId, opened)),
      reader: undefined,
      users: 0,
    };
    opened.users++;
    this.#builds.delete(buildId);
    this.#builds.set(buildId, opened);
    return opened;
  }

  /** Waits until the build is closed or removed, because a segment must be open only once. */
  async #open(buildId: number, onFailure: () => void): Promise<BuildLog> {
    for (let leaving = this.#leaving.get(buildId); leaving !== undefined; leaving = this.#leaving.get(buildId))
      await leaving;
    const directory = this.#pathOf(buildId);
    return await openBuildLog(buildId, directory, this.#parts, onFailure).catch((cause: unknown) => {
      throw logError("log-lost", `log of build ${buildId}: cannot read ${directory}: ${messageOf(cause)}`, { cause });
    });
  }

  #release(buildId: number, opened: Opened): void {
    opened.users--;
    // A build that could not be opened is tried again.
    void opened.build.then(
      () => this.#closeIdle(),
      () => this.#builds.get(buildId) === opened && this.#builds.delete(buildId),
    );
  }

  async #closeIdle(): Promise<void> {
    if (this.#builds.size <= this.#idleBuilds || this.#closed) return;
    for (const [buildId, opened] of this.#builds) {
      if (this.#builds.size <= this.#idleBuilds) return;
      if (opened.users === 0) this.#close(buildId, opened);
    }
  }

  /** Its users keep what they have; others open it again. */
  #close(buildId: number, opened: Opened): void {
    if (this.#builds.get(buildId) !== opened) return;
    this.#builds.delete(buildId);
    void this.#leave(buildId, async () => (await opened.build).close()).catch((thrown: unknown) =>
      this.#parts.log.error("log of a build was not closed", { build: buildId, error: messageOf(thrown) }),
    );
  }

  /** The build cannot be opened until `work` has ended. */
  #leave(buildId: number, work: () => Promise<void>): Promise<void> {
    const before = this.#leaving.get(buildId) ?? Promise.resolve();
    const leaving = before.then(work, work);
    const settled = leaving.then(
      () => undefined,
      () => undefined,
    );
    this.#leaving.set(buildId, settled);
    void settled.then(() => this.#leaving.get(buildId) === settled && this.#leaving.delete(buildId));
    return leaving;
  }
}
