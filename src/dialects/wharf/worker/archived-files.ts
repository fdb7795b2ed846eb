// The worker never sees the files of a container, only archives of them, which a step may have filled with anything: names are checked where
// artifacts are stored, links are followed here, and only to what the archive has.

import { posix } from "node:path";
import { readTar, type TarMember } from "#kernel/artifacts/index.ts";
import type { ArtifactSource } from "../results/store-artifact.ts";

/**
 * A file or directory of a container, absolute, as an archive whose names begin with the last part of that path. Undefined when it is not there.
 */
export type ArchiveOf = (path: string) => Promise<AsyncIterable<Buffer> | undefined>;

/**
 * Every regular file below a directory of a container that has ended. A link to a file that lies inside is that file, as it is for who reads a
 * directory of the machine, and is fetched when somebody wants it; other links, devices and sockets are passed over.
 */
export async function* archivedFiles(archiveOf: ArchiveOf, directory: string): AsyncGenerator<ArtifactSource, void> {
  const files = new Set<string>();
  const links = new Map<string, string>();
  const found = await archiveOf(directory);
  if (found === undefined) return;
  for await (const member of readTar(found)) {
    const name = below(member.path);
    const target = targetOf(member, name);
    if (target !== undefined) links.set(name, target);
    if (member.type !== "file") continue;
    files.add(name);
    yield { name, open: () => member.body };
  }
  for (const name of links.keys()) {
    const target = endOfLinks(name, links);
    if (files.has(target)) yield { name, open: () => fileBytes(archiveOf, posix.join(directory, target)) };
  }
}

/** Where links lead from link to link; what leads in a circle ends somewhere in it, which is no file. */
function endOfLinks(name: string, links: ReadonlyMap<string, string>): string {
  let at = name;
  for (let step = 0; step < longestChain; step++) {
    const next = links.get(at);
    if (next === undefined) return at;
    at = next;
  }
  return at;
}

/** As far as Linux itself follows. */
const longestChain = 40;

/** One file, by an archive of its own. */
async function* fileBytes(archiveOf: ArchiveOf, path: string): AsyncGenerator<Buffer, void> {
  const found = await archiveOf(path);
  if (found === undefined) return;
  for await (const { type, body } of readTar(found)) if (type === "file") yield* body;
}

/** Names in the archive begin with that of the directory. */
const below = (path: string): string => path.slice(path.indexOf("/") + 1);

/** Where a link leads, relative to the directory, if that is inside. Hard links name a member, symbolic ones a way from where they are. */
function targetOf({ type, target }: TarMember, name: string): string | undefined {
  if (type !== "link" && (type !== "symlink" || target.startsWith("/"))) return undefined;
  const path = type === "link" ? below(target) : posix.join(posix.dirname(name), target);
  return path === ".." || path.startsWith("../") ? undefined : path;
}
