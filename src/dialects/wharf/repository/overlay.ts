// Files that are different for one step. They are read from the project and not from a copy of it, before the step begins, so that a step with a
// file that is not there fails without having done anything.

import { open, readlink, realpath } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { messageOf } from "#lib/base/index.ts";
import type { Overlay } from "../plan/step-plan.ts";
import type { Substituter } from "../variables/substitute.ts";
import { isGone, repositoryError, unreadable } from "./errors.ts";
import type { OverlayFile } from "./repository.ts";
import { mostOverlayBytes, substituteBytes } from "./substitute-bytes.ts";

/**
 * The files that a step's plan changes, as the step is to find them: with their variables, or with a text at their end. Rejects for the first file that is
 * not there (`overlay-file`) or outside of the project (`path-escape`).
 */
export async function readOverlay(
  changes: readonly Overlay[],
  projectDirectory: string,
  substituter: Substituter,
): Promise<readonly OverlayFile[]> {
  const root = await realpath(projectDirectory);
  const files = new Map<string, OverlayFile>();
  for (const change of changes) {
    const path = await pathInside(root, change.path);
    const file = files.get(path) ?? (await readFile(root, path, change.path));
    const bytes =
      change.change === "append"
        ? Buffer.concat([file.bytes, Buffer.from(change.text)])
        : substituteBytes(file.bytes, substituter, change.path);
    files.set(path, { ...file, bytes });
  }
  return [...files.values()];
}

/**
 * The path of a file without links, relative to the project: that is where the step's copy has it, too. A link that is written as an absolute path
 * would lead the step back into the project, past its own copy.
 */
async function pathInside(root: string, path: string): Promise<string> {
  const real = await realpath(join(root, path)).catch((thrown: unknown) => {
    if (isGone(thrown)) throw repositoryError("overlay-file", `there is no file ${path} in ${root}`);
    throw unreadable(path, messageOf(thrown), thrown);
  });
  const inside = relative(root, real);
  if (inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    throw repositoryError("path-escape", `${JSON.stringify(path)} is outside the project directory`);
  if (await hasAbsoluteLink(root, path))
    throw repositoryError(
      "path-escape",
      `${JSON.stringify(path)} leads through an absolute link, out of the copy that steps work in`,
    );
  return inside.split(sep).join("/");
}

/** Whether a link on the way, or one that it leads to, is written as an absolute path. */
async function hasAbsoluteLink(root: string, path: string): Promise<boolean> {
  let at = root;
  // Grows by what links are made of. That they end is known: the whole path has been followed.
  const parts = path.split(/[/\\]/);
  while (parts.length > 0) {
    const next = join(at, parts.shift() ?? "");
    const target = await readlink(next).catch(() => undefined);
    if (target === undefined) at = next;
    else if (isAbsolute(target)) return true;
    else parts.unshift(...target.split("/"));
  }
  return false;
}

/** A file without links on its way, for `called` of the definition. Larger ones than what variables are looked for in are refused unread. */
async function readFile(root: string, path: string, called: string): Promise<OverlayFile> {
  const handle = await open(join(root, path), "r").catch((thrown: unknown) => {
    throw unreadable(called, messageOf(thrown), thrown);
  });
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw repositoryError("overlay-file", `expected a file at ${called}, found something else`);
    if (found.size > mostOverlayBytes) throw repositoryError("overlay-file", `${called} is larger than 64 MiB`);
    return { path, bytes: await handle.readFile(), mode: found.mode & 0o777 };
  } finally {
    await handle.close();
  }
}
