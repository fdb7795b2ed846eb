// What steps get is one state of the project, taken once: whoever edits a file while the build runs does not change what later steps see, and
// what a step writes nobody else sees.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Instant } from "#lib/base/index.ts";
import { copyEntries, writeOverlay } from "./copy-entries.ts";
import type { ListOptions } from "./list-names.ts";
import { observeEntries } from "./observe-entries.ts";
import { streamTar, type TarForm, writeTar } from "./repository-tar.ts";

/** A file, a symbolic link or a directory of the project. */
export interface RepositoryEntry {
  /** Relative to the project directory, with `/` on every system. */
  readonly path: string;
  readonly kind: "file" | "link" | "directory";
  /** Permission bits. */
  readonly mode: number;
  readonly modified: Instant;
  /** Bytes of a file, when it was looked at; 0 for everything else. */
  readonly size: number;
  /** Of a link, as it is written. */
  readonly target?: string;
  /** Absolute: where it is read from, if not at its path in the project. */
  readonly source?: string;
}

/** A file that is different for one step, or there for it alone. */
export interface OverlayFile {
  /** As that of an entry. */
  readonly path: string;
  readonly bytes: Buffer;
  /** Permission bits. */
  readonly mode: number;
}

/** The project as every step of one build begins with it. */
export interface Repository {
  /** The project directory, absolute. */
  readonly directory: string;
  /** In the order of their paths, so that a directory comes before what is in it. */
  readonly entries: readonly RepositoryEntry[];
  /**
   * Makes `target` and fills it; nothing of it is shared with another copy. What is left after a failure or an abort is the caller's to remove.
   * O(files), by references to blocks instead of bytes where the file system can do that.
   */
  copyTo(target: string, overlay: readonly OverlayFile[], signal: AbortSignal): Promise<void>;
  /** The same as an uncompressed archive, with the overlay at its end, where it wins over what came before. Made once, read anew each time. */
  tar(overlay: readonly OverlayFile[], options?: TarOptions): AsyncIterable<Buffer>;
}

export interface TarOptions {
  /** Everybody may change everything: for images whose user is not root. */
  readonly isWritable?: boolean;
  /** All names begin with this directory, so that one archive may bring more than the project. */
  readonly below?: string;
}

/** Something of the project that steps do not get, which no build fails for. */
export interface RepositoryWarning {
  readonly code: "no-git" | "not-copied";
  readonly message: string;
}

export interface RepositoryOptions extends ListOptions {
  /** `{results}/work`, which is there; what is made in it goes with it. */
  readonly work: string;
  /** One step needs it and no other: its copy is made from the project, and nothing is kept for a next one. */
  readonly isForOne?: boolean;
  /** Called at any time until the build has ended. */
  readonly onWarning: (warning: RepositoryWarning) => void;
}

/**
 * Looks at the project, which is copied when a step first needs it. Rejects with `repository-unreadable` when something of it cannot be read; what
 * is no file, link or directory, and what is gone when it is read, is left out with a warning.
 */
export async function openRepository(options: RepositoryOptions): Promise<Repository> {
  const { directory, work, signal, isForOne = false, onWarning } = options;
  const entries = await observeEntries(options, onWarning);
  const gone = new Set<string>();
  const lose = (path: string): void => {
    gone.add(path);
    onWarning({ code: "not-copied", message: `${path} is not copied: it was there a moment ago and is gone` });
  };
  /** One state for all steps, and where it is. */
  const snapshot = once(async () => {
    const target = join(work, "snapshot");
    await rm(target, { recursive: true, force: true });
    await copyEntries(entries, { from: directory, to: target, signal, onGone: lose });
    return target;
  });
  const archives = new Map<string, () => Promise<string>>();
  /** The archive of one form, without its end. */
  const archive = (form: TarForm): Promise<string> => {
    const { isWritable, below } = form;
    const name = `repo${isWritable ? "-writable" : ""}${below === "" ? "" : `-${below.replaceAll("/", "-")}`}.tar`;
    const made =
      archives.get(name) ?? once(() => writeTar(entries, { directory, form, signal, onGone: lose }, join(work, name)));
    archives.set(name, made);
    return made();
  };
  return {
    directory,
    entries,
    async copyTo(target, overlay, own) {
      const from = isForOne ? directory : await snapshot();
      const replaced = new Set([...gone, ...overlay.map(({ path }) => path)]);
      const kept = replaced.size === 0 ? entries : entries.filter(({ path }) => !replaced.has(path));
      const of = isForOne ? { onGone: lose } : { isSnapshot: true };
      await copyEntries(kept, { from, to: target, signal: own, ...of });
      await writeOverlay(overlay, target);
    },
    async *tar(overlay, { isWritable = false, below = "" } = {}) {
      const form = { isWritable, below };
      yield* streamTar(await archive(form), overlay, form);
    },
  };
}

/** The first call makes it, all calls get it. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
