import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, formatInstant, keyedSerializer } from "#lib/base/index.ts";
import { flushDirectory, makeDirectories } from "#lib/base/index.node.ts";
import { contentTypeOf, fileNameOf } from "../results/artifact-name.ts";
import { appendArtifact, readArtifactList, type StoredArtifact } from "./artifact-list.ts";
import { ContentFiles, type Received } from "./content-files.ts";
import { artifactError } from "./errors.ts";
import { countTests } from "./test-results.ts";

//   {directory}/content/{sha256}          bytes
//   {directory}/builds/{buildId}.jsonl    artifacts of a build, one a line; what is here exists, and nothing else

const [mostBytes, mostArtifacts] = [4 * 1024 ** 3, 100_000];

export interface ArtifactStoreOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly maxBytes?: number;
}

export interface NewArtifact {
  readonly name: string;
  readonly fileName?: string | undefined;
  readonly stepId?: number;
  readonly workerArtifactId?: number;
  readonly contentType?: string | undefined;
  readonly sha256?: string | undefined;
  readonly isTests?: boolean;
}

export interface Upload {
  readonly artifact: NewArtifact;
  readonly source: AsyncIterable<Uint8Array>;
}

interface Arrived extends Received {
  readonly artifact: NewArtifact;
  tests?: Awaited<ReturnType<typeof countTests>>;
}

interface Adding {
  readonly buildId: number;
  isCutOff: boolean;
}

/** Opens the store and removes leftovers of a crash. */
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

/** Artifacts of builds, whole or not at all. Equal bytes are stored once. */
export class ArtifactStore {
  readonly #options: ArtifactStoreOptions;
  readonly #content: ContentFiles;
  readonly #builds: Map<number, readonly StoredArtifact[]>;
  readonly #inTurn = keyedSerializer<number>();
  readonly #adding = new Set<Adding>();

  constructor(
    options: ArtifactStoreOptions,
    content: ContentFiles,
    builds: ReadonlyMap<number, readonly StoredArtifact[]>,
  ) {
    this.#options = options;
    this.#content = content;
    this.#builds = new Map(builds);
  }

  /** Stores an artifact. A worker's numbered artifact is stored once; other bytes for it are refused with
   * `artifact-taken`. Rejects with `artifact-limit`, `artifact-digest`, `artifacts-removed`, or `test-results` for
   * unreadable test results, which are kept as an artifact. */
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

  /** Like `add` for several: none is listed before all have arrived. */
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

  list(buildId: number): readonly StoredArtifact[] {
    return this.#builds.get(buildId) ?? [];
  }

  get(buildId: number, artifactId: number): StoredArtifact | undefined {
    return this.list(buildId).find((artifact) => artifact.artifactId === artifactId);
  }

  sent(buildId: number, stepId: number, workerArtifactId: number): StoredArtifact | undefined {
    return this.#numbered(buildId, stepId, workerArtifactId);
  }

  pathOf({ sha256 }: StoredArtifact): string {
    return this.#content.pathOf(sha256);
  }

  builds(): Iterable<number> {
    return this.#builds.keys();
  }

  /** Removes a build's artifacts and refuses those that are being added. Idempotent. */
  remove(buildId: number): Promise<void> {
    for (const adding of this.#adding) if (adding.buildId === buildId) adding.isCutOff = true;
    return this.#inTurn(buildId, async () => {
      // The list first: unreferenced bytes are removed by the next start at the latest.
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
}

function checkDigest({ name, sha256 }: NewArtifact, received: Received): void {
  if (sha256 === undefined || sha256 === received.sha256) return;
  const which = `artifact ${JSON.stringify(name)}`;
  throw artifactError(
    "artifact-digest",
    `${which}: expected bytes with the SHA-256 ${sha256}, found ${received.sha256}`,
  );
}
