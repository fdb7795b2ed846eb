// Steps get one state of the project, taken once, and never see each other's changes.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { copyEntries, writeOverlay } from "./copy-entries.ts";
import type { OverlayFile, RepositoryEntry, RepositoryWarning } from "./entry.ts";
import type { ListOptions } from "./list-names.ts";
import { observeEntries } from "./observe-entries.ts";
import { streamTar, type TarForm, writeTar } from "./repository-tar.ts";

/** The project as each step of a build gets it. */
export interface Repository {
  readonly directory: string;
  /** Sorted, so that directories precede their contents. */
  readonly entries: readonly RepositoryEntry[];
  /** Creates an independent copy; the caller removes it, also after a failure. */
  copyTo(target: string, overlay: readonly OverlayFile[], signal: AbortSignal): Promise<void>;
  /** An uncompressed archive with the overlay at its end, where it wins. */
  tar(overlay: readonly OverlayFile[], options?: TarOptions): AsyncIterable<Buffer>;
}

export interface TarOptions {
  /** Everyone may write: for images without root. */
  readonly isWritable?: boolean;
  readonly below?: string;
}

export interface RepositoryOptions extends ListOptions {
  readonly work: string;
  /** Only one step needs it: copies are made from the project directly. */
  readonly isForOne?: boolean;
  readonly onWarning: (warning: RepositoryWarning) => void;
}

/** The project is copied when a step first needs it. Rejects with `repository-unreadable`; unusual and vanished files
 * are left out with a warning. */
export async function openRepository(options: RepositoryOptions): Promise<Repository> {
  const { directory, work, signal, isForOne = false, onWarning } = options;
  const entries = await observeEntries(options, onWarning);
  const gone = new Set<string>();
  const lose = (path: string): void => {
    gone.add(path);
    onWarning({ code: "not-copied", message: `${path} is not copied: it disappeared during the copy` });
  };
  const snapshot = once(async () => {
    const target = join(work, "snapshot");
    await rm(target, { recursive: true, force: true });
    await copyEntries(entries, { from: directory, to: target, signal, onGone: lose });
    return target;
  });
  const archives = new Map<string, () => Promise<string>>();
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

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
