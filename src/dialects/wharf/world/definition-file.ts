import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { codeOf, err, messageOf, ok, type Result } from "#lib/base/index.ts";
import { maxBytes } from "../definition/text.ts";

// The directory of the definition is the project: what steps get a copy of, what paths are relative to, where Git is asked. Nothing is looked for
// above it, because a build of another directory than the one that was meant would run, and be wrong.

/** The only name that a definition has, unless another file is named as one. */
export const definitionFileName = ".wharf-ci.yml";

/** A definition as it was found. */
export interface DefinitionFile {
  /** Absolute. */
  readonly path: string;
  /** The directory it is in: what steps get a copy of, and what paths are relative to. */
  readonly projectDirectory: string;
  /** All of it, or so much that it is seen to be too large. */
  readonly bytes: Uint8Array;
}

/** Why there is no definition, and what to do about it. */
export interface NotFound {
  readonly message: string;
  readonly hint?: string;
}

/** What the user has said about where the definition is. */
export interface DefinitionPlace {
  /** The working directory, absolute. */
  readonly directory: string;
  /** A directory, or a file of the usual name; the working directory unless told. */
  readonly path?: string | undefined;
  /** Any file. */
  readonly file?: string | undefined;
}

/** Finds and reads a definition. The error is for people: it names the path that was looked for. */
export async function readDefinitionFile(place: DefinitionPlace): Promise<Result<DefinitionFile, NotFound>> {
  const { directory, path: given = ".", file } = place;
  const path = file === undefined ? await pathOf(resolve(directory, given)) : resolve(directory, file);
  if (file === undefined && !path.endsWith(definitionFileName)) {
    const hint = `give it with --file ${given}, or name its directory`;
    return err({ message: `a definition is called ${definitionFileName}, found ${given}`, hint });
  }
  try {
    return ok({ path, projectDirectory: dirname(path), bytes: await readStart(path, maxBytes + 1) });
  } catch (thrown) {
    if (codeOf(thrown) !== "ENOENT") return err({ message: `cannot read ${path}: ${messageOf(thrown)}` });
    const above = await nearestDefinition(dirname(path));
    const hint = above === undefined ? `write one, or name the directory it is in` : `did you mean ${above}?`;
    return err({ message: `there is no ${path}`, hint });
  }
}

/** The file that a word of the command line means. A directory need not be there to be taken for one. */
async function pathOf(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true || path.endsWith(`/${definitionFileName}`) ? path : join(path, definitionFileName);
}

/**
 * At most so many bytes from the beginning of a file, whatever size it has or says to have. Rejects for what is no regular file: a pipe is not waited
 * for, because nothing could end the wait.
 */
export async function readStart(path: string, limit: number): Promise<Uint8Array> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await handle.stat()).isFile()) throw new Error("it is no file");
    const buffer = Buffer.alloc(limit);
    let length = 0;
    while (length < limit) {
      const { bytesRead } = await handle.read(buffer, length, limit - length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return buffer.subarray(0, length);
  } finally {
    await handle.close();
  }
}

/** The directory nearest above an absolute path that has a definition; that directory itself is not looked into. */
export async function nearestDefinition(directory: string): Promise<string | undefined> {
  for (let at = dirname(directory); ; at = dirname(at)) {
    const found = await stat(join(at, definitionFileName)).catch(() => undefined);
    if (found?.isFile() === true) return at;
    if (dirname(at) === at) return undefined;
  }
}
