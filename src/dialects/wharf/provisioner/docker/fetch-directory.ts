import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { readTar } from "#kernel/artifacts/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";

/**
 * Unpacks an archive of a directory atomically. Content is untrusted: only regular files and directories inside are
 * taken; `left` filters names.
 */
export async function fetchDirectory(
  archive: AsyncIterable<Buffer>,
  path: string,
  left: (name: string) => boolean,
): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  await makeDirectories(dirname(path), 0o700);
  try {
    await mkdir(draft, { mode: 0o700 });
    for await (const { path: given, type, body } of readTar(archive)) {
      const parts = given.split("/").slice(1);
      if (parts.some((part) => part === "" || part === "." || part === "..") || left(parts.join("/"))) continue;
      const target = join(draft, ...parts);
      if (type === "directory") await makeDirectories(target, 0o700);
      else if (type === "file" && parts.length > 0) {
        await makeDirectories(dirname(target), 0o700);
        await pipeline(body, createWriteStream(target, { mode: 0o600, flags: "wx" }));
      }
    }
    await rename(draft, path);
  } catch (thrown) {
    await rm(draft, { recursive: true, force: true });
    throw thrown;
  }
}
