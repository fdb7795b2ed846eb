import { constants } from "node:fs";
import { type Header, pack } from "tar-stream";

/** An entry of an archive that is made for a test. */
export interface Whole extends Pick<Header, "name" | "type">, Partial<Omit<Header, "name" | "type" | "size">> {
  readonly body?: Buffer;
}

/** A tar with these entries, whatever they are. */
export async function makeTar(entries: readonly Whole[]): Promise<Buffer> {
  const archive = pack();
  for (const { body = Buffer.alloc(0), mode = 0o644, ...header } of entries) {
    // The bits of a type keep a mode of 0 from being taken for none.
    const entry = { mtime: new Date(0), ...header, mode: mode | constants.S_IFREG };
    if (header.type === "file" || header.type === "contiguous-file") archive.entry(entry, body);
    else archive.entry(entry);
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
