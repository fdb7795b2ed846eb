import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { SlipwayError } from "#lib/base/index.ts";
import { type Environment, UsageError } from "#kernel/command/index.ts";

interface Place {
  /** Relative to the user's directory. */
  readonly file: string;
  /** Replace an existing file. */
  readonly force?: boolean;
}

/**
 * Writes a temporary file beside the target, verifies its digest and renames it; leaves nothing behind if that fails.
 */
export async function saveArtifact(
  bytes: AsyncIterable<Uint8Array>,
  digest: string,
  { file: place, force = false }: Place,
  { directory }: Pick<Environment, "directory">,
): Promise<void> {
  const path = resolve(directory, place);
  if (!force && existsSync(path)) throw new UsageError(`${place} already exists`, "--force replaces it");
  const part = `${path}.part`;
  const file = await open(part, "w");
  try {
    for await (const chunk of checked(bytes, digest)) await file.writeFile(chunk);
    await file.sync();
    await rename(part, path);
  } catch (thrown) {
    await rm(part, { force: true });
    throw thrown;
  } finally {
    await file.close();
  }
}

/** Rejects after the last byte if the digest does not match. */
async function* checked(bytes: AsyncIterable<Uint8Array>, digest: string): AsyncGenerator<Uint8Array, void> {
  const hash = createHash("sha256");
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
  if (`sha256:${hash.digest("hex")}` !== digest)
    throw new SlipwayError("artifact-damaged", `the downloaded artifact does not match ${digest}`);
}
