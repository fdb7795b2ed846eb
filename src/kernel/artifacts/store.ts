import { createHash, randomUUID } from "node:crypto";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, codeOf, type Instant, type Millis, serializer } from "#lib/base/index.ts";
import { flushDirectory, makeDirectories, namesIn } from "#lib/base/index.node.ts";
import { ArtifactError } from "./errors.ts";
import { isDigest, type StoredArtifact } from "./words.ts";

//   <directory>/<namespace>/<hex>     bytes by the SHA-256 of themselves; never written to again
//   <directory>/.parts/<uuid>         being written; what a crash has left is removed when the store is opened
//
// A namespace is a wall: what one has stored, Pods and readers of another cannot name. Directories are for the server's
// user alone.

export interface ArtifactLimits {
  readonly each: number;
  readonly total: number;
}

const GiB = 1024 ** 3;
export const defaultArtifactLimits: ArtifactLimits = { each: 2 * GiB, total: 20 * GiB };

/** Unreferenced artifacts are kept this long: a reference may be about to be written. */
const graceOfStrangers: Millis = 10 * 60_000;
const chunkSize = 256 * 1024;

export interface ArtifactStoreOptions {
  /** Used by one process at a time; created on first use. */
  readonly directory: string;
  readonly limits?: ArtifactLimits;
  readonly clock: Clock;
}

/** Files by the digest of their contents. What `put` has returned is durable; a reader never sees half a file. */
export class ArtifactStore {
  readonly #directory: string;
  readonly #limits: ArtifactLimits;
  readonly #clock: Clock;
  /** Bytes of everything stored or being written. Counted once, on first use. */
  #used: Promise<{ bytes: number }> | undefined;
  /** By `<namespace>/<hex>`: since when it has been unreferenced. */
  readonly #strangers = new Map<string, Instant>();
  readonly #inTurn = serializer();

  constructor({ directory, limits = defaultArtifactLimits, clock }: ArtifactStoreOptions) {
    this.#directory = directory;
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Stores bytes in constant memory, equal ones once. Rejects with `ArtifactError` or the cause, leaving nothing. */
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

  async #keep(part: string, namespace: string, hex: string): Promise<boolean> {
    const home = join(this.#directory, namespace);
    const path = join(home, hex);
    const wasThere = (await sizeOf(path).catch(() => undefined)) !== undefined;
    await rename(part, path);
    // The directory may be new as well.
    for (const directory of [home, this.#directory]) await flushDirectory(directory);
    this.#strangers.delete(`${namespace}/${hex}`);
    return !wasThere;
  }

  /** An artifact's bytes; damaged ones throw an `ArtifactError` at the end. Rejects with `ArtifactMissing`. */
  async read(namespace: string, digest: string): Promise<AsyncIterable<Buffer>> {
    const path = isDigest(digest) ? join(this.#directory, namespace, hexOf(digest)) : "";
    // Opened with the first read, so that an unread artifact need not be closed.
    await stat(path).catch((thrown: unknown) => {
      if (codeOf(thrown) !== "ENOENT") throw thrown;
      throw new ArtifactError("ArtifactMissing", `nothing of the digest ${digest} is stored any more`);
    });
    return checkedBytes(path, digest);
  }

  /**
   * Removes artifacts that have been unreferenced for ten minutes, and returns their number. `isMentioned` must know
   * everything that may still be read. The first sweep after a start only looks.
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

  /** False if it was stored again meanwhile. */
  async #remove(namespace: string, hex: string, used: { bytes: number }): Promise<boolean> {
    if (!this.#strangers.delete(`${namespace}/${hex}`)) return false;
    const path = join(this.#directory, namespace, hex);
    const size = await sizeOf(path);
    // Read late: others change it meanwhile.
    used.bytes -= size;
    await rm(path, { force: true });
    return true;
  }

  async isEmpty(): Promise<boolean> {
    return (await this.#all()).length === 0;
  }

  async #all(): Promise<readonly { readonly namespace: string; readonly hex: string }[]> {
    const found: { namespace: string; hex: string }[] = [];
    for (const namespace of await namesIn(this.#directory)) {
      if (namespace === parts) continue;
      for (const hex of await namesIn(join(this.#directory, namespace))) found.push({ namespace, hex });
    }
    return found;
  }

  /** A failure is not kept: the disk may recover. */
  #usage(): Promise<{ bytes: number }> {
    this.#used ??= this.#count().catch((thrown: unknown) => {
      this.#used = undefined;
      throw thrown;
    });
    return this.#used;
  }

  async #count(): Promise<{ bytes: number }> {
    await rm(join(this.#directory, parts), { recursive: true, force: true });
    let bytes = 0;
    for (const { namespace, hex } of await this.#all()) bytes += await sizeOf(join(this.#directory, namespace, hex));
    return { bytes };
  }
}

const parts = ".parts";
const hexOf = (digest: string): string => digest.slice("sha256:".length);
const sizeOf = async (path: string): Promise<number> => (await stat(path)).size;

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
