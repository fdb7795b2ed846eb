import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { access, open, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { SlipwayError } from "#lib/base/index.ts";
import { type Environment, UsageError } from "#kernel/command/index.ts";

/** Where the bytes go. */
interface Place {
  /** A file, from the user's own directory on. */
  readonly file: string;
  /** It may be there already. */
  readonly force?: boolean;
}

/**
 * Writes what comes, and compares its digest at the end. The file is written beside its place and renamed when it is whole; nothing is
 * left of one that is not.
 */
export async function saveArtifact(
  bytes: AsyncIterable<Uint8Array>,
  digest: string,
  { file: place, force = false }: Place,
  { directory }: Pick<Environment, "directory">,
): Promise<void> {
  const path = resolve(directory, place);
  if (!force && (await isThere(path))) throw new UsageError(`${place} is there already`, "--force replaces it");
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

/** Whether something has the name already, whatever it is. */
const isThere = (path: string): Promise<boolean> =>
  access(path, constants.F_OK).then(
    () => true,
    () => false,
  );

/** The bytes as they come; the failure of their digest comes after the last of them. */
async function* checked(bytes: AsyncIterable<Uint8Array>, digest: string): AsyncGenerator<Uint8Array, void> {
  const hash = createHash("sha256");
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
  if (`sha256:${hash.digest("hex")}` !== digest)
    throw new SlipwayError("artifact-damaged", `what has arrived is not what ${digest} names`);
}
