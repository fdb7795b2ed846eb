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

/** What one source may hold, with everything that is packed in it. */
export class SizeBudget {
  readonly #mostBytes: number;
  #entries = 0;
  #bytes = 0;

  constructor(most = mostBytes) {
    this.#mostBytes = most;
  }

  /** False once there is too much. */
  take(bytes: number): boolean {
    this.#entries += 1;
    this.#bytes += bytes;
    return this.#bytes <= this.#mostBytes && this.#entries <= mostFiles;
  }
}

/** Regular files below a directory. Links are left out, because they may lead anywhere. */
export async function readTree(directory: string, folder = ""): Promise<Result<ReadonlyMap<string, Buffer>, string>> {
  const files = new Map<string, Buffer>();
  const budget = new SizeBudget();
  const waiting = [folder];
  for (const at of waiting) {
    const entries = await readdir(join(directory, at), { withFileTypes: true });
    for (const entry of entries) {
      const path = at === "" ? entry.name : `${at}/${entry.name}`;
      if (entry.isDirectory() && entry.name !== ".git") waiting.push(path);
      if (!entry.isFile()) continue;
      const { size } = await stat(join(directory, path));
      if (!budget.take(size)) return err(tooMuch);
      files.set(path, await readFile(join(directory, path)));
    }
    if (waiting.length > mostFiles) return err(tooMuch);
  }
  return ok(files);
}

/** Regular files of a .tgz; of a single folder in it, its contents. Every entry counts, whether it is kept or not. */
export async function readPacked(
  bytes: AsyncIterable<Buffer>,
  budget = new SizeBudget(),
): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>();
  await readArchive(bytes, async ({ path, type, size, body }) => {
    if (!budget.take(size)) throw new Error(tooMuch);
    if (type !== "file") return;
    const chunks: Buffer[] = [];
    for await (const chunk of body) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    const isInner = !path.startsWith("/") && !path.split("/").includes("..");
    if (isInner) files.set(path.replace(/^\.\//, ""), Buffer.concat(chunks));
  });
  const tops = new Set([...files.keys()].map((path) => path.split("/", 1)[0]));
  const [top] = tops;
  if (tops.size !== 1 || top === undefined || files.has(top)) return files;
  return new Map([...files].map(([path, content]) => [path.slice(top.length + 1), content]));
}

/** The files below a folder, by their paths within it. */
export function within(files: ReadonlyMap<string, Buffer>, folder: string): ReadonlyMap<string, Buffer> {
  if (folder === "") return files;
  const prefix = `${folder}/`;
  const inside = [...files].filter(([path]) => path.startsWith(prefix));
  return new Map(inside.map(([path, content]) => [path.slice(prefix.length), content]));
}
