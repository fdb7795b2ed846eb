import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract, type Header } from "tar-stream";
import { messageOf } from "#lib/base/index.ts";
import { ArtifactError } from "./errors.ts";

/** A thing in an archive, as the archive tells it: whoever unpacks it has to judge it. */
export interface ArchiveEntry {
  /** With `/` between its parts and none at the end. */
  readonly path: string;
  readonly type: "file" | "directory" | "symlink";
  /** Permission bits. */
  readonly mode: number;
  /** Bytes of the body. */
  readonly size: number;
  /** What a link says; empty for everything else. */
  readonly target: string;
  /** Of files; to be read to its end before `each` resolves. */
  readonly body: AsyncIterable<unknown>;
}

/**
 * The entries of a tar.gz one after the other, in constant memory, at the pace of `each`. Throws an `ArtifactError` for what is broken,
 * cut off, or neither file nor directory nor symbolic link, and what the source or `each` throws as it is. Whatever happens, the source
 * is closed then.
 */
export async function readArchive(
  source: AsyncIterable<Buffer>,
  each: (entry: ArchiveEntry) => Promise<void>,
): Promise<void> {
  const archive = extract();
  const tail = new Tail();
  const start = new Start(source);
  const unzipped = pipeline(start.bytes(), createGunzip(), (bytes: AsyncIterable<Buffer>) => tail.seen(bytes), archive);
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
  // Types that the library does not know are null, whatever its declarations say; so are the targets of what is no link.
  const target: string | null = header.linkname;
  const path = header.name.replace(/\/+$/, "");
  const called = quoted(path);
  if (type !== "file" && type !== "directory" && type !== "symlink")
    throw invalid(`${called} of the archive is neither a file nor a directory nor a symbolic link`);
  if (type !== "file" && size !== 0) throw invalid(`${called} of the archive has contents and is no file`);
  if (isSparse(header.pax)) throw invalid(`${called} of the archive is a sparse file, stored without its holes`);
  return { path, type, size, mode: mode & 0o777, target: target ?? "" };
}

/** GNU tar calls the pieces of a sparse file a file; only its records tell. */
const isSparse = (records: unknown): boolean =>
  typeof records === "object" && records !== null && Object.keys(records).some((key) => key.startsWith("GNU.sparse."));

/** A path for people. Names are long where somebody wants them to be. */
export const quoted = (path: string): string => JSON.stringify(path.slice(0, 200));

const invalid = (message: string, cause?: unknown): ArtifactError =>
  new ArtifactError("ArtifactInvalid", message, { cause });

/** The compressed bytes. What they throw is no fault of the archive's. */
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

/** Archives are made of blocks of this size, and end with two of zeros. */
const blockSize = 512;
const endLength = 2 * blockSize;

/** The last bytes of an archive: the library takes one that ends after any of its entries for a whole one. */
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

  /** Whether the archive has its end, and not within the contents of the last entry, which ended at that offset. */
  isEndAfter(offset: number): boolean {
    return this.#length >= offset + endLength && this.#last.every((byte) => byte === 0);
  }
}
