import { createReadStream } from "node:fs";
import { SaxesParser } from "saxes";
import { messageOf } from "#lib/base/index.ts";
import { artifactError } from "./errors.ts";

/** What a reader of XML is told, in the order of the document. */
export interface XmlReader {
  /** Names are without their prefix. */
  readonly open: (name: string, attributes: Readonly<Record<string, string>>) => void;
  readonly text: (text: string) => void;
  readonly close: (name: string) => void;
}

/** Text and tags that are longer are not results of tests; nothing of a document is in memory longer than that. */
const longestPiece = 16 * 1024 * 1024;
const deepest = 256;

/**
 * Reads a file of XML piece by piece, in UTF-8, or in UTF-16 where it says so at its beginning. After each piece what is in it has been
 * told, and the caller is given a turn. Rejects with `test-results` for what is no XML, has entities of its own, or is nested too
 * deeply.
 */
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

/** By the byte order mark. */
function encodingOf(bytes: Buffer): "utf-8" | "utf-16le" | "utf-16be" {
  const mark = bytes.length < 2 ? 0 : bytes.readUInt16BE(0);
  return mark === 0xfffe ? "utf-16le" : mark === 0xfeff ? "utf-16be" : "utf-8";
}
