import { chmod, mkdir, open, rename, rm, statfs, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Durable: first the content, then the name. */
export async function replaceFile(finished: string, place: string): Promise<void> {
  await flush(finished);
  await rename(finished, place);
  await flush(dirname(place));
}

/** Makes a file durable, or the names in a directory. */
export async function flush(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** `O_DSYNC` is durable on ext4 and XFS only. Others may ignore it, and macOS leaves the drive's cache unflushed. */
const durableTypes: ReadonlySet<number> = new Set([0xef53, 0x58465342]);

export const endsDurably = async (path: string): Promise<boolean> =>
  process.platform === "linux" && durableTypes.has((await statfs(path)).type);

/** Creates `place` whole and private. `make` may keep temporary files beside its path. Removes leftovers. */
export async function makeFile(place: string, make: (draft: string) => Promise<void>): Promise<void> {
  const apart = `${place}.unfinished`;
  await rm(apart, { recursive: true, force: true });
  // Fails when another process was faster.
  await mkdir(apart, { mode: 0o700 });
  try {
    const draft = join(apart, basename(place));
    await make(draft);
    await chmod(draft, 0o600);
    await replaceFile(draft, place);
  } finally {
    await rm(apart, { recursive: true, force: true });
  }
}

export async function ensurePrivateFile(path: string): Promise<void> {
  const file = await open(path, "a", 0o600);
  try {
    await file.chmod(0o600);
  } finally {
    await file.close();
  }
}

/** How long writes may be acknowledged into a removed file. A look costs 30 us, a commit at least 100. */
const lookEveryMs = 100;

/** Files that must stay in place while in use: flushing a removed file succeeds, but nobody will ever read it. */
export class WatchedFiles {
  readonly #placeByPath = new Map<string, string | undefined>();
  #lookedAt = Number.NEGATIVE_INFINITY;

  async add(path: string): Promise<void> {
    this.#placeByPath.set(path, await placeOf(path));
  }

  /** Rejects when a file is gone or replaced. */
  async assertInPlace(): Promise<void> {
    if (performance.now() < this.#lookedAt + lookEveryMs) return;
    this.#lookedAt = performance.now();
    for (const [path, place] of this.#placeByPath) {
      if ((await placeOf(path)) !== place) throw new Error(`${path} has been removed or replaced while it was in use`);
    }
  }
}

async function placeOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}
