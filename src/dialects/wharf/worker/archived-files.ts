// The archive of a container may contain anything: links are followed only within it, and names are checked where
// artifacts are stored.

import { posix } from "node:path";
import { readTar, type TarMember } from "#kernel/artifacts/index.ts";
import type { ArtifactSource } from "../results/store-artifact.ts";

export type ArchiveOf = (path: string) => Promise<AsyncIterable<Buffer> | undefined>;

/** Regular files below a directory of an ended container. Links to files inside are followed and fetched on demand;
 * other links, devices and sockets are skipped. */
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

function endOfLinks(name: string, links: ReadonlyMap<string, string>): string {
  let at = name;
  for (let step = 0; step < longestChain; step++) {
    const next = links.get(at);
    if (next === undefined) return at;
    at = next;
  }
  return at;
}

const longestChain = 40;

async function* fileBytes(archiveOf: ArchiveOf, path: string): AsyncGenerator<Buffer, void> {
  const found = await archiveOf(path);
  if (found === undefined) return;
  for await (const { type, body } of readTar(found)) if (type === "file") yield* body;
}

const below = (path: string): string => path.slice(path.indexOf("/") + 1);

/** The target relative to the directory, if it is inside. Hard links name a member, symbolic links a relative path. */
function targetOf({ type, target }: TarMember, name: string): string | undefined {
  if (type !== "link" && (type !== "symlink" || target.startsWith("/"))) return undefined;
  const path = type === "link" ? below(target) : posix.join(posix.dirname(name), target);
  return path === ".." || path.startsWith("../") ? undefined : path;
}
