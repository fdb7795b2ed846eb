import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, err, messageOf, ok, type Result } from "#lib/base/index.ts";
import { userConfigDirectory, type UserPlaces } from "../user-directories.ts";
import type { ValueKind, ValuePlace, Values } from "./find-values.ts";

/** Of all values of one name: what a cluster takes. */
const mostBytes = 1024 * 1024;

/** Below `slipway` in the directory for settings. */
const folders = { secret: "secrets", configMap: "configmaps" } as const;

/**
 * The user's own files: `slipway/secrets/{name}/{key}` in the directory for settings, and `slipway/configmaps/{name}/{key}`. Values are the bytes as
 * they are, with the newline that an editor leaves. A secret that others can read is refused, however it is meant.
 */
export function directoryPlace(places: UserPlaces): ValuePlace {
  const pathOf = (kind: ValueKind, name: string): string =>
    `${userConfigDirectory(places)}/slipway/${folders[kind]}/${name}`;
  const isGuarded = (kind: ValueKind): boolean => kind === "secret" && places.platform !== "win32";
  return {
    where: pathOf,
    find: async (kind, name) => await readValues(pathOf(kind, name), isGuarded(kind)),
  };
}

/** All files of a directory; undefined without the directory. The error names the file. */
async function readValues(directory: string, isGuarded: boolean): Promise<Result<Values | undefined, string>> {
  try {
    const values = new Map<string, Buffer>();
    let left = mostBytes;
    // Directories such as those of a mounted volume are no keys, nor are the links to them.
    for (const key of (await readdir(directory)).sort()) {
      const value = await readValue(join(directory, key), left, isGuarded);
      if (!value.ok) return value;
      if (value.value === undefined) continue;
      values.set(key, value.value);
      left -= value.value.length;
    }
    return ok(values);
  } catch (thrown) {
    return codeOf(thrown) === "ENOENT" ? ok(undefined) : err(messageOf(thrown));
  }
}

/** Undefined for what is no file. The rights are those of what is read, and not of what was there a moment ago. */
async function readValue(path: string, limit: number, isGuarded: boolean): Promise<Result<Buffer | undefined, string>> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await handle.stat();
    if (!found.isFile()) return ok(undefined);
    const mode = found.mode & 0o777;
    if (isGuarded && (mode & 0o077) !== 0)
      return err(
        `others can read or change ${path}: expected mode 600, found ${mode.toString(8)}; chmod 600 makes it so`,
      );
    if (found.size > limit) return err(`${path}: the values are larger than 1 MiB`);
    return ok(await handle.readFile());
  } finally {
    await handle.close();
  }
}
