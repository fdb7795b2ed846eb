import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { hasCode, inParallel, type Logger, recover } from "#lib/base/index.ts";
import { makeDirectories, readTextIfPresent, replaceFile } from "#lib/base/index.node.ts";
import type { ResultStores } from "../results-api/parts.ts";

// The highest removed number is stored, so that results that still arrive for a removed build cannot reach a new
// one.

const nameOf = (directory: string): string => join(directory, "highest-removed");

/** The highest number of a removed build or one with stored results; 0 if there is none. */
export async function highestNumber(directory: string): Promise<number> {
  const names = await Promise.all(["logs", "artifacts/builds"].map((name) => namesIn(join(directory, name))));
  const numbers = names.flat().map((name) => Number(/^([1-9]\d{0,15})(?:\.jsonl)?$/.exec(name)?.[1] ?? 0));
  return Math.max(await highestRemoved(directory), ...numbers);
}

const namesIn = async (directory: string): Promise<readonly string[]> =>
  await readdir(directory).catch(recover(hasCode("ENOENT"), []));

async function highestRemoved(directory: string): Promise<number> {
  const number = Number.parseInt((await readTextIfPresent(nameOf(directory))) ?? "", 10);
  return Number.isSafeInteger(number) ? number : 0;
}

export async function noteRemoved(directory: string, number: number): Promise<void> {
  if (number <= (await highestRemoved(directory))) return;
  await makeDirectories(directory, 0o700);
  await replaceFile(
    nameOf(directory),
    `${number}
`,
  );
}

/** Removes results of builds that do not exist, after calling `note` with the highest. If none exists the objects are
 * probably another server's and everything is kept. */
export async function removeOrphans(
  { logs, artifacts }: ResultStores,
  exists: (buildId: number) => boolean,
  { log, note }: { readonly log: Logger; readonly note: (highest: number) => Promise<void> },
): Promise<void> {
  const stored = [...new Set([...(await logs.builds()), ...artifacts.builds()])];
  const orphans = stored.filter((buildId) => !exists(buildId));
  if (orphans.length === 0) return;
  if (orphans.length === stored.length) {
    log.warn("results are kept although none of their builds exists", { builds: orphans.length });
    return;
  }
  await note(Math.max(...orphans));
  await inParallel(orphans, async (buildId) => {
    await logs.remove(buildId);
    await artifacts.remove(buildId);
  });
  log.info("results of builds that do not exist were removed", { builds: orphans.length });
}
