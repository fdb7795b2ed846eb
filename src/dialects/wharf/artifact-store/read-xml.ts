import { createReadStream } from "node:fs";
import { SaxesParser } from "saxes";
import { messageOf } from "#lib/base/index.ts";
import { artifactError } from "./errors.ts";

export interface XmlReader {
  readonly open: (name: string, attributes: Readonly<Record<string, string>>) => void;
  readonly text: (text: string) => void;
  readonly close: (name: string) => void;
}

/** Longest text or tag, which bounds memory. */
const longestPiece = 16 * 1024 * 1024;
const deepest = 256;

/** Streams a file of XML, UTF-8 or UTF-16 by its byte order mark; yields after each chunk. Rejects with `test-results`
 * for invalid XML, own entities or deep nesting. */
export async function* readXml(path: string, reader: XmlReader): AsyncGenerator<void, void> {
  const parser = new SaxesParser({ xmlns: false, fileName: "test results" });
  let [depth, sinceEvent] = [0, 0];
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("opentag", ({ name, attributes }) => {
    sinceEvent = 0;
    if (++depth > deepest) throw new Error(`expected at most ${deepest} elements inside each other`);
    reader.open(localName(name), attributes);
  });
  parser.on("closetag", ({ name }) => {
    sinceEvent = 0;
    depth--;
    reader.close(localName(name));
  });
  parser.on("text", (text) => reader.text(text));
  parser.on("cdata", (text) => reader.text(text));
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  const write = (text: string): void => {
    sinceEvent += text.length;
    parser.write(text);
    if (sinceEvent > longestPiece) throw new Error(`expected at most ${longestPiece} characters in one piece`);
  };
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 64 * 1024 }) as AsyncIterable<Buffer>) {
      decoder ??= new TextDecoder(encodingOf(chunk));
      write(decoder.decode(chunk, { stream: true }));
      yield;
    }
    write(decoder?.decode() ?? "");
    parser.close();
    yield;
  } catch (thrown) {
    throw artifactError("test-results", messageOf(thrown), { cause: thrown });
  }
}

const localName = (name: string): string => name.slice(name.indexOf(":") + 1);

function encodingOf(bytes: Buffer): "utf-8" | "utf-16le" | "utf-16be" {
  const mark = bytes.length < 2 ? 0 : bytes.readUInt16BE(0);
  return mark === 0xfffe ? "utf-16le" : mark === 0xfeff ? "utf-16be" : "utf-8";
}
