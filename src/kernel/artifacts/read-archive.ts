import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract, type Header } from "tar-stream";
import { messageOf } from "#lib/base/index.ts";
import { ArtifactError } from "./errors.ts";

/** An entry as the archive describes it; the caller must validate it. */
export interface ArchiveEntry {
  /** With `/` between its parts and none at the end. */
  readonly path: string;
  readonly type: "file" | "directory" | "symlink";
  readonly mode: number;
  readonly size: number;
  /** The target of a link, else empty. */
  readonly target: string;
  /** Of files; to be read to its end before `each` resolves. */
  readonly body: AsyncIterable<unknown>;
}

/**
 * The entries of a tar.gz one after the other, in constant memory. Throws an `ArtifactError` for an archive that is
 * damaged, cut off, or has other entries than files, directories and symbolic links. The source is closed in any case.
 * `unzip` makes the stream that undoes another compression.
 */
export async function readArchive(
  source: AsyncIterable<Buffer>,
  each: (entry: ArchiveEntry) => Promise<void>,
  unzip: () => Duplex = createGunzip,
): Promise<void> {
  const archive = extract();
  const tail = new Tail();
  const start = new Start(source);
  const unzipped = pipeline(start.bytes(), unzip(), (bytes: AsyncIterable<Buffer>) => tail.seen(bytes), archive);
  const failure = unzipped.then(
    () => undefined,
    (thrown: unknown) => ({ thrown }),
  );
  let end = 0;
  try {
    for await (const stream of archive) {
      const { header, offset } = stream;
      // The offset is that of the header.
      end = offset + blockSize + Math.ceil(header.size / blockSize) * blockSize;
      await each({ ...checked(header), body: stream });
    }
    await unzipped;
  } catch (thrown) {
    const isReaders = (await failure)?.thrown === thrown && !start.hasFailed;
    throw isReaders ? invalid(`the archive cannot be read: ${messageOf(thrown)}`, thrown) : thrown;
  }
  if (!tail.isEndAfter(end)) throw invalid("the archive cannot be read: it is cut off");
}

function checked(header: Header): Omit<ArchiveEntry, "body"> {
  const { type, mode, size } = header;
  // Despite its declarations, the library gives null for unknown types and for targets of other entries.
  const target: string | null = header.linkname;
  const path = header.name.replace(/\/+$/, "");
  const called = quoted(path);
  if (type !== "file" && type !== "directory" && type !== "symlink")
    throw invalid(`${called} of the archive is neither a file nor a directory nor a symbolic link`);
  if (type !== "file" && size !== 0) throw invalid(`${called} of the archive has contents and is no file`);
  if (isSparse(header.pax)) throw invalid(`${called} of the archive is a sparse file, stored without its holes`);
  return { path, type, size, mode: mode & 0o777, target: target ?? "" };
}

/** GNU tar declares the pieces of a sparse file as a file; only its records tell. */
const isSparse = (records: unknown): boolean =>
  typeof records === "object" && records !== null && Object.keys(records).some((key) => key.startsWith("GNU.sparse."));

/** A path for people, bounded. */
export const quoted = (path: string): string => JSON.stringify(path.slice(0, 200));

const invalid = (message: string, cause?: unknown): ArtifactError =>
  new ArtifactError("ArtifactInvalid", message, { cause });

/** Failures of the source are not the archive's. */
class Start {
  hasFailed = false;
  readonly #source: AsyncIterable<Buffer>;

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source;
  }

  async *bytes(): AsyncGenerator<Buffer, void> {
    try {
      for await (const chunk of this.#source) yield chunk;
    } catch (thrown) {
      this.hasFailed = true;
      throw thrown;
    }
  }
}

/** Archives consist of blocks of this size, and end with two of zeros. */
const blockSize = 512;
const endLength = 2 * blockSize;

/** The library takes an archive that ends after any entry for complete. */
class Tail {
  #length = 0;
  #last: Buffer = Buffer.alloc(0);

  async *seen(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
    for await (const chunk of bytes) {
      this.#length += chunk.length;
      this.#last = Buffer.concat([this.#last, chunk.subarray(-endLength)]).subarray(-endLength);
      yield chunk;
    }
  }

  /** Whether the archive ends properly, after the last entry, which ended at that offset. */
  isEndAfter(offset: number): boolean {
    return this.#length >= offset + endLength && this.#last.every((byte) => byte === 0);
  }
}
