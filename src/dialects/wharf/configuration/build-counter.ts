// Builds without a number are counted per user and machine, in the original's file.

import { dirname } from "node:path";
import { type Clock, SlipwayError } from "#lib/base/index.ts";
import { makeDirectories, readTextIfPresent, replaceFile } from "#lib/base/index.node.ts";
import { userCacheDirectory, type UserPlaces } from "../user-directories.ts";
import { underLock } from "./file-lock.ts";

export const counterPath = (places: UserPlaces): string =>
  `${userCacheDirectory(places)}/iver-wharf/wharf-cmd/last-build-id.txt`;

export async function peekBuildId(path: string): Promise<number> {
  const text = (await readTextIfPresent(path)) ?? "0";
  const last = Number(text);
  if (/^\d+\s*$/.test(text) && Number.isSafeInteger(last + 1)) return last + 1;
  throw new SlipwayError(
    "build-counter",
    `${path}: expected the number of the last build, found ${JSON.stringify(text.slice(0, 40))}`,
    {
      hint: "write that number into it, or remove the file to begin at 1",
    },
  );
}

/** Takes a number that no other build of this user on this machine gets. */
export async function takeBuildId(path: string, clock: Clock): Promise<number> {
  await makeDirectories(dirname(path), 0o700);
  return await underLock(`${path}.lock`, clock, async () => {
    const next = await peekBuildId(path);
    // Replaced atomically: a half-written number would fail every later build.
    await replaceFile(path, `${next}\n`, { isDurable: false });
    return next;
  });
}
