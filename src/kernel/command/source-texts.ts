import { open, readdir, stat } from "node:fs/promises";
import { messageOf, type Problem } from "#lib/base/index.ts";
import { UsageError } from "./exit-codes.ts";

/** One file of the command line as text, or what is wrong with it. `file` is named as the user named it. */
export type SourceText =
  | { readonly file: string; readonly text: string }
  | { readonly file: string; readonly problem: Problem };

/** Where files are looked for. */
export interface SourcePlace {
  /** What relative paths are relative to; absolute. */
  readonly directory: string;
  /** Called once at most, for the path `-`. */
  readonly stdin?: () => AsyncIterable<Uint8Array>;
}

/**
 * Bytes of one file. As much as the API server takes in one request: what is larger could not be stored anyway, and reading a
 * megabyte of YAML takes about a second.
 */
export const maxFileBytes = 3 * 1024 * 1024;

/**
 * Reads files, folders (their .yaml, .yml and .json files in the order of their names, not those of folders inside) and `-`.
 * What cannot be read is a problem of that file, so that the others are read all the same. Throws a UsageError for words that
 * can never name documents: `-` given twice, a folder without such files.
 */
export async function readSources(paths: readonly string[], place: SourcePlace): Promise<readonly SourceText[]> {
  if (paths.filter((path) => path === "-").length > 1)
    throw new UsageError("- is standard input, which can be read only once");
  const found: SourceText[] = [];
  for (const path of paths) {
    if (path === "-") found.push(await readOne("-", place.stdin?.() ?? nothing()));
    else for (const file of await filesOf(path, place.directory)) found.push(await readOne(file, bytesOf(file, place)));
  }
  return found;
}

async function* nothing(): AsyncIterable<Uint8Array> {}

const absolute = (path: string, directory: string): string => (path.startsWith("/") ? path : `${directory}/${path}`);

/** A path that is no folder is a file, whether it is there or not: reading it says what is wrong. */
async function filesOf(path: string, directory: string): Promise<readonly string[]> {
  const found = await stat(absolute(path, directory)).catch(() => undefined);
  if (found?.isDirectory() !== true) return [path];
  const names = (await readdir(absolute(path, directory))).filter((name) => /\.(?:ya?ml|json)$/.test(name)).sort();
  if (names.length === 0) throw new NoDocuments(`${path} holds no .yaml, .yml or .json file`);
  return names.map((name) => `${path.replace(/\/$/, "")}/${name}`);
}

/** In pieces, because the size of a pipe or a device is not known before its end. */
async function* bytesOf(file: string, { directory }: SourcePlace): AsyncIterable<Uint8Array> {
  const handle = await open(absolute(file, directory));
  try {
    yield* handle.createReadStream({ autoClose: false });
  } finally {
    await handle.close();
  }
}

async function readOne(file: string, chunks: AsyncIterable<Uint8Array>): Promise<SourceText> {
  const fail = (code: string, message: string): SourceText => ({
    file,
    problem: { severity: "error", code, path: "", message, position: { file, line: 1, column: 1 } },
  });
  try {
    const bytes = await collect(chunks);
    if (bytes === undefined)
      return fail("file-too-large", `expected at most ${maxFileBytes} bytes (3 MiB); split it into several files`);
    const text = decodeText(bytes);
    return text === undefined ? fail("not-text", "not text: expected YAML or JSON in UTF-8") : { file, text };
  } catch (thrown) {
    return fail("unreadable-file", `cannot read ${file === "-" ? "standard input" : file}: ${messageOf(thrown)}`);
  }
}

/** Undefined as soon as there are more than may be. */
async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array | undefined> {
  const kept: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > maxFileBytes) return undefined;
    kept.push(chunk);
  }
  return Buffer.concat(kept);
}

/** Undefined for bytes that are no UTF-8, or hold the zero byte, which no text file does. A byte order mark is left out. */
export function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined; // The decoder says no more than that it cannot.
  }
}

/** A directory was named that has no file of documents; it may have something else that a command knows. */
export class NoDocuments extends UsageError {}
