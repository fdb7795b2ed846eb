import { createHash, randomUUID } from "node:crypto";
import { type FileHandle, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, codeOf, type Instant, type Millis, serializer } from "#lib/base/index.ts";
import { flushDirectory, makeDirectories } from "#lib/base/index.node.ts";
import { ArtifactError } from "./errors.ts";
import { isDigest, type StoredArtifact } from "./words.ts";

//   <directory>/<namespace>/<hex>     bytes by the SHA-256 of themselves; never written to again
//   <directory>/.parts/<uuid>         being written; what a crash has left is removed when the store is opened
//
// A namespace is a wall: what one has stored, Pods and readers of another cannot name. Directories are for the server's user alone.

export interface ArtifactLimits {
  /** Bytes of one artifact as it is stored. */
  readonly each: number;
  /** Bytes of all of them. */
  readonly total: number;
}

const GiB = 1024 ** 3;
export const defaultArtifactLimits: ArtifactLimits = { each: 2 * GiB, total: 20 * GiB };

/** What nobody mentions is kept that long, because who has stored it may be about to write it down. */
const graceOfStrangers: Millis = 10 * 60_000;
const chunkSize = 256 * 1024;

export interface ArtifactStoreOptions {
  /** Used by one process at a time; made when something is stored. */
  readonly directory: string;
  readonly limits?: ArtifactLimits;
  readonly clock: Clock;
}

/** Files by the digest of their contents. What `put` has resolved with is durable; a reader never sees a half file. */
export class ArtifactStore {
  readonly #directory: string;
  readonly #limits: ArtifactLimits;
  readonly #clock: Clock;
  /** Bytes of all that is stored, and of what is being written. Counted once, when that is first asked for. */
  #used: Promise<{ bytes: number }> | undefined;
  /** By `<namespace>/<hex>`: since when nobody has mentioned it. */
  readonly #strangers = new Map<string, Instant>();
  /** What is swept must not be stored again at the same moment. */
  readonly #inTurn = serializer();

  constructor({ directory, limits = defaultArtifactLimits, clock }: ArtifactStoreOptions) {
    this.#directory = directory;
    this.#limits = limits;
    this.#clock = clock;
  }

  /**
   * Stores bytes as they come, in constant memory. Equal bytes are stored once. Rejects with an `ArtifactError` above a limit, with
   * what the system says on a full disk, with the reason of the signal, and with whatever the source throws; nothing of them is left
   * then.
   */
  async put(
    namespace: string,
    source: AsyncIterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<Pick<StoredArtifact, "digest" | "size">> {
    const used = await this.#usage();
    const home = join(this.#directory, namespace);
    await makeDirectories(home, 0o700);
    const part = join(this.#directory, parts, randomUUID());
    let size = 0;
    try {
      const hash = createHash("sha256");
      const handle = await this.#openPart(part);
      try {
        for await (const chunk of source) {
          signal?.throwIfAborted();
          size += chunk.length;
          used.bytes += chunk.length;
          this.#checkSize(size, used.bytes);
          hash.update(chunk);
          await writeAll(handle, chunk);
        }
        await handle.sync();
      } finally {
        await handle.close();
      }
      const hex = hash.digest("hex");
      const isNew = await this.#inTurn(() => this.#keep(part, namespace, hex));
      if (!isNew) used.bytes -= size;
      return { digest: `sha256:${hex}`, size };
    } catch (thrown) {
      await rm(part, { force: true });
      used.bytes -= size;
      throw thrown;
    }
  }

  async #openPart(part: string): Promise<FileHandle> {
    await makeDirectories(join(this.#directory, parts), 0o700);
    return open(part, "wx", 0o600);
  }

  #checkSize(size: number, all: number): void {
    const { each, total } = this.#limits;
    if (size > each)
      throw new ArtifactError(
        "ArtifactTooLarge",
        `larger than ${each} bytes, the limit of this server for one artifact`,
      );
    if (all > total) {
      const message = `all artifacts together would be larger than ${total} bytes, the limit of this server; delete Workflows that are not needed any more`;
      throw new ArtifactError("ArtifactTooLarge", message);
    }
  }

  /** Gives a part its name, durably. True when the bytes were not there before. */
  async #keep(part: string, namespace: string, hex: string): Promise<boolean> {
    const home = join(this.#directory, namespace);
    const path = join(home, hex);
    const wasThere = (await sizeOf(path).catch(() => undefined)) !== undefined;
    await rename(part, path);
    // The directory itself may be new as well.
    for (const directory of [home, this.#directory]) await flushDirectory(directory);
    this.#strangers.delete(`${namespace}/${hex}`);
    return !wasThere;
  }

  /**
   * The bytes of an artifact, checked against its digest while they are read: at the end of damaged ones an `ArtifactError` is
   * thrown. Rejects with `ArtifactMissing` where this namespace has none of the digest.
   */
  async read(namespace: string, digest: string): Promise<AsyncIterable<Buffer>> {
    const path = isDigest(digest) ? join(this.#directory, namespace, hexOf(digest)) : "";
    // Opened when the first chunk is asked for, so that nobody has to close what was never read.
    await stat(path).catch((thrown: unknown) => {
      if (codeOf(thrown) !== "ENOENT") throw thrown;
      throw new ArtifactError("ArtifactMissing", `nothing of the digest ${digest} is stored any more`);
    });
    return checkedBytes(path, digest);
  }

  /**
   * Removes what nobody has mentioned for ten minutes; the first sweep after a start only looks. `isMentioned` is asked about
   * every artifact and must know all that may still be read. Answers how many were removed.
   */
  async sweep(isMentioned: (namespace: string, digest: string) => boolean): Promise<number> {
    const now = this.#clock.now();
    const used = await this.#usage();
    let removed = 0;
    const present = new Set<string>();
    for (const { namespace, hex } of await this.#all()) {
      const key = `${namespace}/${hex}`;
      present.add(key);
      const since = this.#strangers.get(key) ?? now;
      if (isMentioned(namespace, `sha256:${hex}`)) this.#strangers.delete(key);
      else if (now - since < graceOfStrangers) this.#strangers.set(key, since);
      else if (await this.#inTurn(() => this.#remove(namespace, hex, used))) removed++;
    }
    for (const key of this.#strangers.keys()) if (!present.has(key)) this.#strangers.delete(key);
    return removed;
  }

  /** False when somebody has stored it again meanwhile. */
  async #remove(namespace: string, hex: string, used: { bytes: number }): Promise<boolean> {
    if (!this.#strangers.delete(`${namespace}/${hex}`)) return false;
    const path = join(this.#directory, namespace, hex);
    const size = await sizeOf(path);
    // Only now: others change it meanwhile.
    used.bytes -= size;
    await rm(path, { force: true });
    return true;
  }

  /** Nothing is stored: there is nothing to sweep. */
  async isEmpty(): Promise<boolean> {
    return (await this.#all()).length === 0;
  }

  async #all(): Promise<readonly { readonly namespace: string; readonly hex: string }[]> {
    const found: { namespace: string; hex: string }[] = [];
    for (const namespace of await names(this.#directory)) {
      if (namespace === parts) continue;
      for (const hex of await names(join(this.#directory, namespace))) found.push({ namespace, hex });
    }
    return found;
  }

  /** Counted once; a failure is not kept, as a disk may be back. */
  #usage(): Promise<{ bytes: number }> {
    this.#used ??= this.#count().catch((thrown: unknown) => {
      this.#used = undefined;
      throw thrown;
    });
    return this.#used;
  }

  /** Counts what is there, and removes what a crash has left. */
  async #count(): Promise<{ bytes: number }> {
    await rm(join(this.#directory, parts), { recursive: true, force: true });
    let bytes = 0;
    for (const { namespace, hex } of await this.#all()) bytes += await sizeOf(join(this.#directory, namespace, hex));
    return { bytes };
  }
}

/** No namespace begins with a dot. */
const parts = ".parts";

const hexOf = (digest: string): string => digest.slice("sha256:".length);

const sizeOf = async (path: string): Promise<number> => (await stat(path)).size;

async function names(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch((thrown: unknown) => {
    if (codeOf(thrown) === "ENOENT") return [];
    throw thrown;
  });
}

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await handle.write(chunk, at)).bytesWritten;
}

async function* checkedBytes(path: string, digest: string): AsyncGenerator<Buffer, void> {
  const handle = await open(path, "r");
  try {
    const hash = createHash("sha256");
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkSize), 0, chunkSize, null);
      if (bytesRead === 0) break;
      const chunk = buffer.subarray(0, bytesRead);
      hash.update(chunk);
      yield chunk;
    }
    if (`sha256:${hash.digest("hex")}` !== digest)
      throw new ArtifactError("ArtifactInvalid", `the stored bytes of ${digest} are damaged`);
  } finally {
    await handle.close();
  }
}
