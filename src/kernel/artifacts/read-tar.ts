import { pipeline } from "node:stream/promises";
import type { Instant } from "#lib/base/index.ts";
import { extract } from "tar-stream";

/** A thing in an archive that somebody else has made, whatever it is. */
export interface TarMember {
  /** With `/` between its parts and none at the end. */
  readonly path: string;
  readonly type: "file" | "directory" | "symlink" | "link" | "other";
  /** Permission bits. */
  readonly mode: number;
  readonly modified: Instant;
  /** Bytes of a file. */
  readonly size: number;
  /** What a link says: of a `link` the path of a member before it, of a `symlink` any text. */
  readonly target: string;
  /** Of files. What is not read when the next member is asked for is passed over. */
  readonly body: AsyncIterable<Buffer>;
}

const types = new Set(["file", "directory", "symlink", "link"] as const);

/**
 * The members of a plain tar one after the other, in constant memory, at the reader's pace. Throws what the source throws, and what the
 * format's reader says of bytes that are no tar; either way, and when the reader leaves early, the source is closed.
 */
export async function* readTar(source: AsyncIterable<Buffer>): AsyncGenerator<TarMember, void> {
  const archive = extract();
  const read = pipeline(source, archive);
  // Told by the archive, too, which is what is waited for here.
  read.catch(() => undefined);
  for await (const stream of archive) {
    const { name, type, linkname, mode, mtime, size } = stream.header;
    // Types that the library does not know are null, whatever its declarations say; so are the targets of what is no link.
    const target: string | null = linkname;
    const known = [...types].find((one) => one === type) ?? "other";
    const path = name.replace(/\/+$/, "");
    const facts = { mode: mode & 0o7777, modified: mtime?.getTime() ?? 0, size };
    yield { path, type: known, ...facts, target: target ?? "", body: bytesOf(stream) };
    stream.resume();
  }
  await read;
}

/** Streams that are read as they are say of their chunks only that they are something. */
async function* bytesOf(stream: AsyncIterable<unknown>): AsyncGenerator<Buffer, void> {
  for await (const chunk of stream) yield chunk as Buffer;
}
