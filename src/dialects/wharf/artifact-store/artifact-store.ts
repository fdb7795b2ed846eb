import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, formatInstant } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { flushDirectory } from "../log-store/flush-directory.ts";
import { contentTypeOf, fileNameOf } from "../results/artifact-name.ts";
import { appendArtifact, readArtifactList, type StoredArtifact } from "./artifact-list.ts";
import { ContentFiles, type Received } from "./content-files.ts";
import { artifactError } from "./errors.ts";
import { countTests } from "./test-results.ts";

//   {directory}/content/{sha256}          bytes
//   {directory}/builds/{buildId}.jsonl    artifacts of a build, one a line; what is here exists, and nothing else

/** A worker's own limit is lower; of a build. */
const [mostBytes, mostArtifacts] = [4 * 1024 ** 3, 100_000];

export interface ArtifactStoreOptions {
  /** Used by one process at a time; made when it is missing. */
  readonly directory: string;
  readonly clock: Clock;
  /** Of one artifact: 4 GiB when absent. */
  readonly maxBytes?: number;
}

/** An artifact that is about to be stored. */
export interface NewArtifact {
  readonly name: string;
  /** The last part of the name when absent. */
  readonly fileName?: string | undefined;
  /** Both 0, or absent, when no worker has sent it. */
  readonly stepId?: number;
  readonly workerArtifactId?: number;
  /** By the name when absent. */
  readonly contentType?: string | undefined;
  /** SHA-256 in hexadecimal that the bytes are to have. */
  readonly sha256?: string | undefined;
  /** The bytes are test results, and are to be counted. */
  readonly isTests?: boolean;
}

/** An artifact and its bytes, asked for once. */
export interface Upload {
  readonly artifact: NewArtifact;
  readonly source: AsyncIterable<Uint8Array>;
}

/** One whose bytes are here. */
interface Arrived extends Received {
  readonly artifact: NewArtifact;
  /** What was counted in it, or why nothing could be. */
  tests?: Awaited<ReturnType<typeof countTests>>;
}

/** A call that brings artifacts of a build. */
interface Adding {
  readonly buildId: number;
  /** The build was removed since the call: nothing of it may come back. */
  isCutOff: boolean;
}

/** Opens the store, and removes what a crash has left. Reads the lists of all builds. */
export async function openArtifactStore(options: ArtifactStoreOptions): Promise<ArtifactStore> {
  const builds = join(options.directory, "builds");
  await makeDirectories(builds, 0o700);
  const lists = new Map<number, readonly StoredArtifact[]>();
  for (const name of await readdir(builds)) {
    const [, number] = /^([1-9]\d{0,15})\.jsonl$/.exec(name) ?? [];
    if (number !== undefined) lists.set(Number(number), await readArtifactList(join(builds, name)));
  }
  const content = new ContentFiles(join(options.directory, "content"));
  await content.open([...lists.values()].flat().map(({ sha256 }) => sha256));
  return new ArtifactStore(options, content, lists);
}

/**
 * What builds have left, whole or not at all: something is there when its bytes are on the disk, have the digest that was announced, and the
 * build's list says so. Equal bytes of different builds are one file.
 */
export class ArtifactStore {
  readonly #options: ArtifactStoreOptions;
  readonly #content: ContentFiles;
  readonly #builds: Map<number, readonly StoredArtifact[]>;
  /** The last change of each build's list. */
  readonly #turns = new Map<number, Promise<unknown>>();
  /** Calls that bring something now. */
  readonly #adding = new Set<Adding>();

  /** For `openArtifactStore`. */
  constructor(
    options: ArtifactStoreOptions,
    content: ContentFiles,
    builds: ReadonlyMap<number, readonly StoredArtifact[]>,
  ) {
    this.#options = options;
    this.#content = content;
    this.#builds = new Map(builds);
  }

  /**
   * Stores an artifact. One that a worker has numbered is there once: bytes that are there already are passed over, and others are refused
   * with `artifact-taken`. Rejects with `artifact-limit`, `artifact-digest`, with `test-results` for test results that are none, which are kept
   * as an artifact like any other, with `artifacts-removed` when the build was removed since the call, and with what source and disk say.
   */
  async add(
    buildId: number,
    artifact: NewArtifact,
    source: AsyncIterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<StoredArtifact> {
    const uploads = async function* (): AsyncGenerator<Upload, void> {
      yield { artifact, source };
    };
    const [stored] = await this.addAll(buildId, uploads(), signal);
    if (stored === undefined) throw new Error("one upload has come to nothing");
    return stored;
  }

  /** As `add`, for several that come one after the other: none of them is there before all of them have come. */
  async addAll(
    buildId: number,
    uploads: AsyncIterable<Upload>,
    signal?: AbortSignal,
  ): Promise<readonly StoredArtifact[]> {
    const all: Arrived[] = [];
    const adding: Adding = { buildId, isCutOff: false };
    this.#adding.add(adding);
    try {
      for await (const { artifact, source } of uploads) {
        const received = await this.#content.receive(source, this.#options.maxBytes ?? mostBytes, signal);
        const one: Arrived = { ...received, artifact };
        all.push(one);
        checkDigest(artifact, received);
        if (artifact.isTests === true) one.tests = await countTests(received.part);
      }
      const stored: StoredArtifact[] = [];
      for (const { artifact, tests, ...received } of all) {
        const counts = tests === undefined || "problem" in tests ? {} : { tests };
        stored.push(
          await this.#inTurn(buildId, () => {
            if (adding.isCutOff) throw artifactError("artifacts-removed", `build ${buildId}: removed`);
            return this.#list(buildId, { ...artifact, ...counts }, received);
          }),
        );
      }
      for (const { artifact, tests } of all)
        if (tests !== undefined && "problem" in tests)
          throw artifactError(
            "test-results",
            `${JSON.stringify(artifact.fileName ?? artifact.name)}: ${tests.problem}`,
          );
      return stored;
    } finally {
      this.#adding.delete(adding);
      for (const received of all) await this.#content.drop(received);
    }
  }

  async #list(
    buildId: number,
    artifact: NewArtifact & Pick<StoredArtifact, "tests">,
    received: Received,
  ): Promise<StoredArtifact> {
    const { name, stepId = 0, workerArtifactId = 0, tests } = artifact;
    const known = this.#numbered(buildId, stepId, workerArtifactId);
    if (known !== undefined) {
      if (known.sha256 === received.sha256) return known;
      const which = `artifact ${workerArtifactId} of step ${stepId} of build ${buildId}`;
      throw artifactError("artifact-taken", `${which}: expected the bytes that are there already, found others`);
    }
    const list = this.list(buildId);
    if (list.length >= mostArtifacts)
      throw artifactError(
        "artifact-limit",
        `build ${buildId}: expected at most ${mostArtifacts} artifacts, found more`,
      );
    const stored: StoredArtifact = {
      artifactId: (list.at(-1)?.artifactId ?? 0) + 1,
      stepId,
      workerArtifactId,
      name,
      fileName: artifact.fileName ?? fileNameOf(name),
      size: received.size,
      sha256: received.sha256,
      contentType: artifact.contentType ?? contentTypeOf(name),
      createdAt: formatInstant(this.#options.clock.now()),
      ...(tests === undefined ? {} : { tests }),
    };
    await this.#content.keep(received);
    try {
      await appendArtifact(this.#pathOf(buildId), stored);
      if (list.length === 0) await flushDirectory(join(this.#options.directory, "builds"));
    } catch (thrown) {
      await this.#content.release(received.sha256);
      throw thrown;
    }
    this.#builds.set(buildId, [...list, stored]);
    return stored;
  }

  /** The artifacts of a build, in order of their arrival. */
  list(buildId: number): readonly StoredArtifact[] {
    return this.#builds.get(buildId) ?? [];
  }

  get(buildId: number, artifactId: number): StoredArtifact | undefined {
    return this.list(buildId).find((artifact) => artifact.artifactId === artifactId);
  }

  /** One that a worker has sent, by its number there. */
  sent(buildId: number, stepId: number, workerArtifactId: number): StoredArtifact | undefined {
    return this.#numbered(buildId, stepId, workerArtifactId);
  }

  /** Where the bytes of an artifact are, while its build is there. */
  pathOf({ sha256 }: StoredArtifact): string {
    return this.#content.pathOf(sha256);
  }

  /** Builds that have left something, in no order. */
  builds(): Iterable<number> {
    return this.#builds.keys();
  }

  /** Removes what a build has left; bytes go when no other build has them. What is on its way to it is refused. Idempotent. */
  remove(buildId: number): Promise<void> {
    for (const adding of this.#adding) if (adding.buildId === buildId) adding.isCutOff = true;
    return this.#inTurn(buildId, async () => {
      // The list first: bytes that nobody refers to are removed by the next start at the latest.
      await rm(this.#pathOf(buildId), { force: true });
      const list = this.list(buildId);
      this.#builds.delete(buildId);
      for (const { sha256 } of list) await this.#content.release(sha256);
    });
  }

  #numbered(buildId: number, stepId: number, workerArtifactId: number): StoredArtifact | undefined {
    if (workerArtifactId === 0) return undefined;
    return this.list(buildId).find(
      (artifact) => artifact.stepId === stepId && artifact.workerArtifactId === workerArtifactId,
    );
  }

  #pathOf(buildId: number): string {
    return join(this.#options.directory, "builds", `${buildId}.jsonl`);
  }

  #inTurn<T>(buildId: number, work: () => T | Promise<T>): Promise<T> {
    const turn = (this.#turns.get(buildId) ?? Promise.resolve()).then(work, work);
    const settled = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#turns.set(buildId, settled);
    void settled.then(() => this.#turns.get(buildId) === settled && this.#turns.delete(buildId));
    return turn;
  }
}

/** What was announced must be what came. */
function checkDigest({ name, sha256 }: NewArtifact, received: Received): void {
  if (sha256 === undefined || sha256 === received.sha256) return;
  const which = `artifact ${JSON.stringify(name)}`;
  throw artifactError(
    "artifact-digest",
    `${which}: expected bytes with the SHA-256 ${sha256}, found ${received.sha256}`,
  );
}
