// Read from the project before the step starts, so that a missing file fails it early.

import { isFailure, type Substituter } from "../variables/substitute.ts";
import { isGone, repositoryError, unreadable } from "./errors.ts";
import { open, readlink, realpath } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { messageOf } from "#lib/base/index.ts";
import type { Overlay } from "../plan/step-plan.ts";
import type { OverlayFile } from "./entry.ts";

/** The changed files of a step. Rejects with `overlay-file` or `path-escape`. */
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

/** The resolved path relative to the project. Absolute links would lead from the step's copy back into the project. */
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

async function hasAbsoluteLink(root: string, path: string): Promise<boolean> {
  let at = root;
  // Grows by the targets of links; realpath has shown that it ends.
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

const looksAt = 8 * 1024;

const mostOverlayBytes = 64 * 1024 * 1024;

/** Substitutes variables bytewise. Files with a zero byte at the beginning are binary and unchanged. Throws
 * `overlay-variables`. */
export function substituteBytes(bytes: Buffer, substituter: Substituter, called: string): Buffer {
  if (bytes.subarray(0, looksAt).includes(0)) return bytes;
  const parts: Buffer[] = [];
  let length = 0;
  let end = 0;
  // latin1: positions in the text are positions in the bytes.
  for (const { 0: whole, index } of bytes.toString("latin1").matchAll(/\$\{[^}]*\}/g)) {
    const reference = bytes.subarray(index, index + whole.length);
    const written = reference.toString("utf8");
    const result = substituter.substitute(written);
    if (isFailure(result)) throw repositoryError("overlay-variables", `${called}: ${result.message}`);
    const { text } = result.scalar;
    // Unchanged references stay as bytes.
    parts.push(bytes.subarray(end, index), text === written ? reference : Buffer.from(text));
    length += index - end + text.length;
    if (length > mostOverlayBytes)
      throw repositoryError("overlay-variables", `${called}: variables make it larger than 64 MiB`);
    end = index + whole.length;
  }
  return Buffer.concat([...parts, bytes.subarray(end)]);
}
