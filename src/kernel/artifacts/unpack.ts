import { chmod, mkdir, open, rename, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { ArtifactError, mostEntries, mostUnpacked, tooManyBytes, tooManyEntries } from "./errors.ts";
import { staysInside } from "./links.ts";
import { type ArchiveEntry, quoted, readArchive } from "./read-archive.ts";
import { isInnerPath, type StoredArtifact } from "./words.ts";

/**
 * Puts an artifact at `path`, completely or not at all; only the parents may exist. Archives are not trusted: nothing
 * is written outside of `path`. Throws an `ArtifactError` for a damaged or malicious archive.
 */
export async function unpackArtifact(
  bytes: AsyncIterable<Buffer>,
  { archive, executable }: Pick<StoredArtifact, "archive" | "executable">,
  path: string,
): Promise<void> {
  const draft = join(dirname(path), ".slipway-part");
  await makeDirectories(dirname(path));
  await rm(draft, { recursive: true, force: true });
  try {
    if (archive === undefined) await writeNew(draft, bytes, executable === true ? 0o755 : 0o644);
    else await unpackTar(bytes, draft);
    await rename(draft, path);
  } catch (thrown) {
    await rm(draft, { recursive: true, force: true });
    throw thrown;
  }
}

async function unpackTar(bytes: AsyncIterable<Buffer>, root: string): Promise<void> {
  /** Created here, hence no links. A path whose parent is not among them is refused. */
  const directories = new Map<string, number>();
  let [count, total] = [0, 0];
  await readArchive(bytes, async (entry) => {
    if ((count === 0) !== (entry.path === ".")) throw refused(entry, "does not stand in its place");
    if (count++ === mostEntries) throw tooManyEntries();
    if ((total += entry.size) > mostUnpacked) throw tooManyBytes();
    await unpackEntry(entry, root, directories).catch((thrown: unknown) => {
      throw codeOf(thrown) === "EEXIST" ? refused(entry, "is there already") : thrown;
    });
  });
  if (count === 0) throw new ArtifactError("ArtifactInvalid", "the archive is empty");
  // The owner must be able to remove them.
  for (const [path, mode] of directories) await chmod(join(root, path), mode | 0o700);
}

async function unpackEntry(entry: ArchiveEntry, root: string, directories: Map<string, number>): Promise<void> {
  const isRoot = entry.path === ".";
  if (!isRoot && !isInnerPath(entry.path)) throw refused(entry, "leads out of the artifact");
  if (!isRoot && !directories.has(dirname(entry.path))) throw refused(entry, "stands in no directory");
  const path = isRoot ? root : join(root, entry.path);
  switch (entry.type) {
    case "directory":
      await mkdir(path, { mode: 0o700 });
      directories.set(entry.path, entry.mode);
      return;
    case "symlink":
      if (isRoot || !staysInside(entry.path, entry.target)) throw refused(entry, "is a link that leads out");
      return symlink(entry.target, path);
    case "file":
      return writeNew(path, entry.body, entry.mode);
  }
}

const refused = ({ path }: ArchiveEntry, why: string): ArtifactError =>
  new ArtifactError("ArtifactInvalid", `${quoted(path)} of the archive ${why}`);

/** Exclusive, so that no link is followed. */
async function writeNew(path: string, bytes: AsyncIterable<unknown>, mode: number): Promise<void> {
  const handle = await open(path, "wx", 0o600);
  try {
    for await (const chunk of bytes) await handle.writeFile(chunk as Buffer);
    await handle.chmod(mode);
  } finally {
    await handle.close();
  }
}
