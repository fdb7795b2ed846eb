import { constants } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, err, messageOf, ok, type Result } from "#lib/base/index.ts";
import { userConfigDirectory, type UserPlaces } from "../user-directories.ts";
import type { ValueKind, ValuePlace, Values } from "./find-values.ts";

const mostBytes = 1024 * 1024;

const folders = { secret: "secrets", configMap: "configmaps" } as const;

/** The user's files `slipway/secrets/{name}/{key}` and `slipway/configmaps/{name}/{key}` in the configuration
 * directory, byte for byte. Secrets that others can read are refused. */
export function directoryPlace(places: UserPlaces): ValuePlace {
  const pathOf = (kind: ValueKind, name: string): string =>
    `${userConfigDirectory(places)}/slipway/${folders[kind]}/${name}`;
  const isGuarded = (kind: ValueKind): boolean => kind === "secret" && places.platform !== "win32";
  return {
    where: pathOf,
    find: async (kind, name) => await readValues(pathOf(kind, name), isGuarded(kind)),
  };
}

async function readValues(directory: string, isGuarded: boolean): Promise<Result<Values | undefined, string>> {
  try {
    const values = new Map<string, Buffer>();
    let left = mostBytes;
    // Directories are skipped, such as those of a mounted volume.
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

/** Undefined if it is no file. The mode is checked on the open file. */
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
