import { pipeline } from "node:stream/promises";
import type { Instant } from "#lib/base/index.ts";
import { extract } from "tar-stream";

export interface TarMember {
  /** With `/` between its parts and none at the end. */
  readonly path: string;
  readonly type: "file" | "directory" | "symlink" | "link" | "other";
  readonly mode: number;
  readonly modified: Instant;
  readonly size: number;
  /** Of a `link` the path of an earlier member, of a `symlink` any text. */
  readonly target: string;
  /** Of files. Unread content is skipped with the next member. */
  readonly body: AsyncIterable<Buffer>;
}

const types = new Set(["file", "directory", "symlink", "link"] as const);

/** The members of a tar, in constant memory. Throws for a damaged archive; always closes the source. */
export async function* readTar(source: AsyncIterable<Buffer>): AsyncGenerator<TarMember, void> {
  const archive = extract();
  const read = pipeline(source, archive);
  // The loop below throws it.
  read.catch(() => undefined);
  for await (const stream of archive) {
    const { name, type, linkname, mode, mtime, size } = stream.header;
    // Despite its declarations, the library gives null for unknown types and for targets of other members.
    const target: string | null = linkname;
    const known = [...types].find((one) => one === type) ?? "other";
    const path = name.replace(/\/+$/, "");
    const facts = { mode: mode & 0o7777, modified: mtime?.getTime() ?? 0, size };
    yield { path, type: known, ...facts, target: target ?? "", body: bytesOf(stream) };
    stream.resume();
  }
  await read;
}

async function* bytesOf(stream: AsyncIterable<unknown>): AsyncGenerator<Buffer, void> {
  for await (const chunk of stream) yield chunk as Buffer;
}
