import { createHash, randomUUID } from "node:crypto";
import { open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { flushDirectory, makeDirectories } from "#lib/base/index.node.ts";
import { artifactError } from "./errors.ts";
import { serializer } from "#lib/base/index.ts";

export interface Received {
  readonly size: number;
  readonly sha256: string;
  readonly part: string;
}

/** Files by SHA-256 with reference counts in memory, which `open` restores. */
export class ContentFiles {
  readonly #directory: string;
  readonly #parts: string;
  readonly #references = new Map<string, number>();
  readonly #inTurn = serializer();

  constructor(directory: string) {
    this.#directory = directory;
    this.#parts = join(directory, ".parts");
  }

  async open(references: Iterable<string>): Promise<void> {
    for (const sha256 of references) this.#references.set(sha256, this.count(sha256) + 1);
    await rm(this.#parts, { recursive: true, force: true });
    await makeDirectories(this.#parts, 0o700);
    for (const name of await readdir(this.#directory))
      if (/^[0-9a-f]{64}$/.test(name) && this.count(name) === 0) await rm(join(this.#directory, name), { force: true });
  }

  count(sha256: string): number {
    return this.#references.get(sha256) ?? 0;
  }

  pathOf(sha256: string): string {
    return join(this.#directory, sha256);
  }

  /** Receives and syncs bytes; pass the result to `keep` or `drop`. Rejects with `artifact-limit` or the signal's
   * reason and leaves nothing. */
  async receive(source: AsyncIterable<Uint8Array>, maxBytes: number, signal?: AbortSignal): Promise<Received> {
    const part = join(this.#parts, randomUUID());
    const hash = createHash("sha256");
    let size = 0;
    try {
      const handle = await open(part, "wx", 0o600);
      try {
        for await (const chunk of source) {
          signal?.throwIfAborted();
          size += chunk.length;
          if (size > maxBytes)
            throw artifactError("artifact-limit", `expected at most ${maxBytes} bytes of an artifact, found more`);
          hash.update(chunk);
          for (let at = 0; at < chunk.length; ) at += (await handle.write(chunk, at)).bytesWritten;
        }
        await handle.datasync();
      } finally {
        await handle.close();
      }
    } catch (thrown) {
      await rm(part, { force: true });
      throw thrown;
    }
    return { size, sha256: hash.digest("hex"), part };
  }

  keep({ part, sha256 }: Received): Promise<void> {
    return this.#inTurn(async () => {
      if (this.count(sha256) > 0) await rm(part, { force: true });
      else {
        await rename(part, this.pathOf(sha256));
        await flushDirectory(this.#directory);
      }
      this.#references.set(sha256, this.count(sha256) + 1);
    });
  }

  async drop({ part }: Received): Promise<void> {
    await rm(part, { force: true });
  }

  release(sha256: string): Promise<void> {
    return this.#inTurn(async () => {
      const left = this.count(sha256) - 1;
      if (left > 0) this.#references.set(sha256, left);
      else {
        this.#references.delete(sha256);
        await rm(this.pathOf(sha256), { force: true });
      }
    });
  }
}
