import { open, readdir, stat } from "node:fs/promises";
import { type Problem, reasonOf } from "#lib/base/index.ts";
import { UsageError } from "./exit-codes.ts";

/** `file` is as the user named it. */
export type SourceText =
  | { readonly file: string; readonly text: string }
  | { readonly file: string; readonly problem: Problem };

export interface SourcePlace {
  /** The base of relative paths; absolute. */
  readonly directory: string;
  /** For the path `-`, called at most once; the default is the standard input of the process. */
  readonly stdin?: () => AsyncIterable<Uint8Array>;
}

/** The API server's limit for a request; reading a megabyte of YAML takes about a second. */
export const maxFileBytes = 3 * 1024 * 1024;

/**
 * Reads files, folders (their .yaml, .yml and .json files by name, not recursively) and `-`. An unreadable file is a
 * problem of that file. Throws a UsageError for `-` given twice and a folder without such files.
 */
export async function readSources(paths: readonly string[], place: SourcePlace): Promise<readonly SourceText[]> {
  if (paths.filter((path) => path === "-").length > 1)
    throw new UsageError("- is standard input, which can be read only once");
  const found: SourceText[] = [];
  for (const path of paths) {
    if (path === "-") found.push(await readOne("-", (place.stdin ?? readStdin)()));
    else for (const file of await filesOf(path, place.directory)) found.push(await readOne(file, bytesOf(file, place)));
  }
  return found;
}

const readStdin = (): AsyncIterable<Uint8Array> => process.stdin;

const absolute = (path: string, directory: string): string => (path.startsWith("/") ? path : `${directory}/${path}`);

/** Anything but a folder is a file; reading it reports problems. */
async function filesOf(path: string, directory: string): Promise<readonly string[]> {
  const found = await stat(absolute(path, directory)).catch(() => undefined);
  if (found?.isDirectory() !== true) return [path];
  const names = (await readdir(absolute(path, directory))).filter((name) => /\.(?:ya?ml|json)$/.test(name)).sort();
  if (names.length === 0) throw new NoDocuments(`${path} contains no .yaml, .yml or .json file`);
  return names.map((name) => `${path.replace(/\/$/, "")}/${name}`);
}

/** In pieces: the size of a pipe or device is unknown. */
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
    return fail("unreadable-file", `cannot read ${file === "-" ? "standard input" : file}: ${reasonOf(thrown)}`);
  }
}

/** Undefined above the limit. */
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

/** Undefined for bytes that are not UTF-8 or contain a zero byte. A byte order mark is removed. */
export function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined; // The decoder says no more than that it cannot.
  }
}

/** The directory may hold something else that a command knows. */
export class NoDocuments extends UsageError {}
