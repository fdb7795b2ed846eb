import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { lstat, mkdir, open, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Duplex, PassThrough } from "node:stream";
import { createGunzip } from "node:zlib";
import { codeOf } from "#lib/base/index.ts";
import { flushDirectory, makeDirectories } from "#lib/base/index.node.ts";
import { ArtifactError, mostEntries } from "./errors.ts";
import { readArchive } from "./read-archive.ts";

/** A file below the root. */
export interface Blob {
  readonly path: string;
  readonly size: number;
  readonly modified: number;
}

/** Why a path is refused. */
export class BlobRefusal extends Error {
  override readonly name = "BlobRefusal";
  /** An HTTP status. */
  readonly code: 400 | 404 | 409 | 413 | 501;

  constructor(code: BlobRefusal["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** The segments of a path below the root: nothing leads out of it. Throws a `BlobRefusal`. */
export function segmentsOf(path: string): readonly string[] {
  const segments = path.split("/").filter((segment) => segment !== "");
  const bad = segments.find((segment) => segment === "." || segment === ".." || /[\\\0]/.test(segment));
  if (bad !== undefined) throw new BlobRefusal(400, `Invalid path ${JSON.stringify(path.slice(0, 200))}`);
  // Uploads that are under way.
  if (segments.some((segment) => segment.startsWith(draftPrefix)))
    throw new BlobRefusal(400, `Names must not begin with ${draftPrefix}`);
  return segments;
}

const draftPrefix = ".slipway-";
/** What one archive may unpack to. */
const mostUnpacked = 64 * 2 ** 30;
const mostSums = 1000;

/** Files below a directory, written whole or not at all. Symbolic links do not exist for it. */
export class BlobStore {
  readonly #root: string;
  readonly #searchPath: string;
  /** Checksums by path, size and time of change. */
  readonly #sums = new Map<string, string>();

  /** `searchPath` is where the programs are that undo compressions. */
  constructor(root: string, searchPath = "/usr/local/bin:/usr/bin:/bin") {
    this.#root = root;
    this.#searchPath = searchPath;
  }

  /** Names in a directory, sorted; directories end with `/`. */
  async list(path: string): Promise<readonly string[]> {
    const directory = await this.#inner(segmentsOf(path));
    try {
      const entries = await readdir(directory, { withFileTypes: true });
      return entries
        .filter((entry) => (entry.isFile() || entry.isDirectory()) && !entry.name.startsWith(draftPrefix))
        .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
        .sort();
    } catch (thrown) {
      if (codeOf(thrown) === "ENOENT" && segmentsOf(path).length === 0) return [];
      throw absent(thrown);
    }
  }

  /** Undefined unless it is a file. */
  async find(path: string): Promise<Blob | undefined> {
    try {
      const full = await this.#inner(segmentsOf(path));
      const status = await lstat(full);
      return status.isFile() ? { path: full, size: status.size, modified: status.mtimeMs } : undefined;
    } catch (thrown) {
      if (thrown instanceof BlobRefusal && thrown.code === 404) return undefined;
      if (codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR") return undefined;
      throw thrown;
    }
  }

  /** Bytes from `start` up to `end`, which is not included. A file that is replaced meanwhile ends the stream. */
  read({ path }: Blob, start: number, end: number): AsyncIterable<Uint8Array> {
    return piecesOf(path, start, end);
  }

  async sha256(blob: Blob): Promise<string> {
    const key = `${blob.path} ${blob.size} ${blob.modified}`;
    const known = this.#sums.get(key);
    if (known !== undefined) return known;
    const hash = createHash("sha256");
    for await (const chunk of this.read(blob, 0, Math.max(blob.size, 1))) hash.update(chunk);
    const sum = hash.digest("hex");
    this.#sums.set(key, sum);
    const [oldest] = this.#sums.keys();
    if (this.#sums.size > mostSums && oldest !== undefined) this.#sums.delete(oldest);
    return sum;
  }

  /** Stores a file, durable when it resolves, in place of an older one. Returns its size. */
  async write(path: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
    const segments = segmentsOf(path);
    if (segments.length === 0) throw new BlobRefusal(400, "expected the path of a file");
    const target = await this.#inner(segments, true);
    const draft = join(dirname(target), `${draftPrefix}${randomUUID()}`);
    try {
      const size = await writeNew(draft, bytes);
      await rename(draft, target);
      await flushDirectory(dirname(target));
      return size;
    } catch (thrown) {
      await rm(draft, { force: true });
      if (codeOf(thrown) === "EISDIR" || codeOf(thrown) === "ENOTEMPTY")
        throw new BlobRefusal(409, `${path} is a directory`);
      throw thrown;
    }
  }

  /** Unpacks a tar archive, also a compressed one, beside itself, and keeps it. Refuses links and special entries. */
  async explode(path: string): Promise<void> {
    const blob = await this.find(path);
    if (blob === undefined) throw new BlobRefusal(404, "Not Found");
    const base = segmentsOf(path).slice(0, -1).join("/");
    let [count, total] = [0, 0];
    const source = this.read(blob, 0, Math.max(blob.size, 1)) as AsyncIterable<Buffer>;
    const unzip = unzipOf(await headOf(blob), this.#searchPath);
    try {
      await readArchive(
        source,
        async (entry) => {
          if (++count > mostEntries || (total += entry.size) > mostUnpacked)
            throw new BlobRefusal(413, "the archive is too large");
          const inner = entry.path.replace(/^\.\/?/, "");
          if (entry.type === "symlink") throw new BlobRefusal(400, `${entry.path} of the archive is a symbolic link`);
          if (inner === "") return;
          if (entry.type === "directory") await this.#makeDirectory(segmentsOf(`${base}/${inner}`));
          else await this.write(`${base}/${inner}`, entry.body as AsyncIterable<Uint8Array>);
        },
        unzip,
      );
    } catch (thrown) {
      if (!(thrown instanceof ArtifactError)) throw thrown;
      throw thrown.cause instanceof BlobRefusal ? thrown.cause : new BlobRefusal(400, thrown.message);
    }
  }

  /** Removes a file or an empty directory. */
  async remove(path: string): Promise<void> {
    const segments = segmentsOf(path);
    if (segments.length === 0) throw new BlobRefusal(400, "expected the path of a file");
    const full = await this.#inner(segments);
    try {
      const status = await lstat(full);
      await (status.isDirectory() ? rmdir(full) : unlink(full));
    } catch (thrown) {
      if (codeOf(thrown) === "ENOTEMPTY") throw new BlobRefusal(409, `${path} is not empty`);
      throw absent(thrown);
    }
  }

  async #makeDirectory(segments: readonly string[]): Promise<void> {
    await makeOne(await this.#inner(segments, true));
  }

  /** The path below the root. Refuses symbolic links on the way; `makes` the directories that are missing. */
  async #inner(segments: readonly string[], makes = false): Promise<string> {
    if (makes) await makeDirectories(this.#root, 0o755);
    let path = this.#root;
    for (const [index, segment] of segments.entries()) {
      path = join(path, segment);
      const isLast = index === segments.length - 1;
      if (makes && !isLast) await makeOne(path);
      const status = await lstat(path).catch(() => undefined);
      if (status?.isSymbolicLink() === true) throw new BlobRefusal(404, "Not Found");
      if (!isLast && status?.isDirectory() !== true)
        throw new BlobRefusal(makes ? 409 : 404, makes ? `${segment} is a file` : "Not Found");
    }
    return path;
  }
}

async function* piecesOf(path: string, start: number, end: number): AsyncGenerator<Uint8Array, void> {
  // A link may have taken the file's place since it was found.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    yield* file.createReadStream({ start, end: end - 1, highWaterMark: 256 * 1024, autoClose: false });
  } finally {
    await file.close();
  }
}

/** The first bytes of a file, in hexadecimal. */
async function headOf({ path }: Blob): Promise<string> {
  for await (const chunk of piecesOf(path, 0, 6)) return Buffer.from(chunk).toString("hex");
  return "";
}

/** Programs that undo a compression, by the first bytes of what they made. */
const programs = [
  ["fd377a585a00", "xz"],
  ["425a68", "bzip2"],
  ["28b52ffd", "zstd"],
] as const;

function unzipOf(head: string, searchPath: string): () => Duplex {
  const program = programs.find(([start]) => head.startsWith(start))?.[1];
  if (program !== undefined) return () => throughProgram(program, searchPath);
  return head.startsWith("1f8b") ? createGunzip : () => new PassThrough();
}

/** What the program fails at cuts the archive off. */
function throughProgram(program: string, searchPath: string): Duplex {
  const child = spawn(program, ["-dc"], { stdio: ["pipe", "pipe", "ignore"], env: { PATH: searchPath } });
  const stream = Duplex.from({ writable: child.stdin, readable: child.stdout });
  child.once("error", (thrown) => {
    const isMissing = codeOf(thrown) === "ENOENT";
    const words = `unpacking this archive takes the program ${program}, which is not installed on the server`;
    stream.destroy(isMissing ? new BlobRefusal(501, words) : thrown);
  });
  return stream;
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o755 });
  } catch (thrown) {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
  }
}

async function writeNew(path: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
  const file = await open(path, "wx", 0o644);
  try {
    let size = 0;
    for await (const chunk of bytes) {
      await file.writeFile(chunk);
      size += chunk.length;
    }
    await file.datasync();
    return size;
  } finally {
    await file.close();
  }
}

const absent = (thrown: unknown): unknown =>
  codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR" ? new BlobRefusal(404, "Not Found") : thrown;
