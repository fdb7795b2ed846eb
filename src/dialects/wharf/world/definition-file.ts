import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { codeOf, err, messageOf, ok, type Result } from "#lib/base/index.ts";
import { maxBytes } from "../definition/text.ts";

// The directory of the definition is the project. Directories above are not searched: the wrong project would be
// built silently.

export const definitionFileName = ".wharf-ci.yml";

export interface DefinitionFile {
  readonly path: string;
  readonly projectDirectory: string;
  readonly bytes: Uint8Array;
}

export interface NotFound {
  readonly message: string;
  readonly hint?: string;
}

export interface DefinitionPlace {
  readonly directory: string;
  readonly path?: string | undefined;
  readonly file?: string | undefined;
}

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

/** A path that does not exist is taken for a directory. */
async function pathOf(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true || path.endsWith(`/${definitionFileName}`) ? path : join(path, definitionFileName);
}

/** At most `limit` bytes of a regular file. Rejects for other kinds of files, because reading a pipe could block
 * forever. */
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

export async function nearestDefinition(directory: string): Promise<string | undefined> {
  for (let at = dirname(directory); ; at = dirname(at)) {
    const found = await stat(join(at, definitionFileName)).catch(() => undefined);
    if (found?.isFile() === true) return at;
    if (dirname(at) === at) return undefined;
  }
}
