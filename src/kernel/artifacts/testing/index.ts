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

/** A tar whose first header says that it is a long one, of attributes, with so many bytes of them; then zeros without end. */
export async function* longHeader(bytes: number): AsyncGenerator<Buffer> {
  const start = (await makeTar([{ name: "x", type: "file" }])).subarray(0, 512);
  start.write("x", 156);
  start.write(bytes.toString(8).padStart(11, "0"), 124);
  start.fill(" ", 148, 156);
  start.write(
    start
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0"),
    148,
  );
  yield start;
  for (;;) yield Buffer.alloc(64 * 1024);
}
