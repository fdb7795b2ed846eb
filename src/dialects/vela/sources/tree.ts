import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { err, ok, type Result } from "#lib/base/index.ts";
import { readArchive } from "#kernel/artifacts/index.ts";

/** Files of a source by path. `directory` is absent if they exist in memory only. */
export interface SourceTree {
  readonly files: ReadonlyMap<string, Buffer>;
  readonly directory?: string;
  readonly commit?: string;
}

const mostFiles = 10_000;
export const mostBytes = 64 * 1024 * 1024;
const tooMuch = `expected at most ${mostFiles} files of together ${mostBytes / 1024 / 1024} MiB`;

class Files {
  readonly all = new Map<string, Buffer>();
  #bytes = 0;

  /** False if the limits are reached. */
  add(path: string, content: Buffer): boolean {
    this.#bytes += content.length;
    this.all.set(path, content);
    return this.#bytes <= mostBytes && this.all.size <= mostFiles;
  }
}

/** Regular files below a directory. Links are left out, because they may lead anywhere. */
export async function readTree(directory: string, folder = ""): Promise<Result<ReadonlyMap<string, Buffer>, string>> {
  const files = new Files();
  const waiting = [folder];
  for (const at of waiting) {
    const entries = await readdir(join(directory, at), { withFileTypes: true });
    for (const entry of entries) {
      const path = at === "" ? entry.name : `${at}/${entry.name}`;
      if (entry.isDirectory() && entry.name !== ".git") waiting.push(path);
      if (!entry.isFile()) continue;
      const { size } = await stat(join(directory, path));
      if (size > mostBytes || !files.add(path, await readFile(join(directory, path)))) return err(tooMuch);
    }
    if (waiting.length > mostFiles) return err(tooMuch);
  }
  return ok(files.all);
}

/** Regular files of a .tgz; of a single folder in it, its contents. */
export async function readPacked(bytes: AsyncIterable<Buffer>): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Files();
  await readArchive(bytes, async ({ path, type, size, body }) => {
    const isInner = !path.startsWith("/") && !path.split("/").includes("..");
    const chunks: Buffer[] = [];
    if (size > mostBytes) throw new Error(tooMuch);
    if (type === "file") for await (const chunk of body) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    if (type === "file" && isInner && !files.add(path.replace(/^\.\//, ""), Buffer.concat(chunks)))
      throw new Error(tooMuch);
  });
  const tops = new Set([...files.all.keys()].map((path) => path.split("/", 1)[0]));
  const [top] = tops;
  if (tops.size !== 1 || top === undefined || files.all.has(top)) return files.all;
  return new Map([...files.all].map(([path, content]) => [path.slice(top.length + 1), content]));
}

/** The files below a folder, by their paths within it. */
export function within(files: ReadonlyMap<string, Buffer>, folder: string): ReadonlyMap<string, Buffer> {
  if (folder === "") return files;
  const prefix = `${folder}/`;
  const inside = [...files].filter(([path]) => path.startsWith(prefix));
  return new Map(inside.map(([path, content]) => [path.slice(prefix.length), content]));
}
