// `.dockerignore`, which the program that sends a build's directory obeys, not the engine: patterns of Go's path matching with `**`, the last of
// which that matches a path, or a directory above it, decides.

import { posix } from "node:path";

/** Whether a path, relative to the build's directory, is left out. */
export type Ignores = (path: string) => boolean;

interface Pattern {
  readonly form: RegExp;
  /** `!pattern`: not left out after all. */
  readonly isException: boolean;
}

/** Reads the lines of such a file. What is no pattern matches nothing. */
export function readDockerIgnore(text: string): Ignores {
  const patterns = text
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .filter((line) => !line.startsWith("#"))
    .map((line) => line.trim())
    .filter((line) => line !== "" && line !== "!")
    .flatMap(patternOf);
  return (path) => {
    const above = path.split("/").map((_, index, parts) => parts.slice(0, index + 1).join("/"));
    let isIgnored = false;
    for (const { form, isException } of patterns)
      if (isException === isIgnored && above.some((one) => form.test(one))) isIgnored = !isException;
    return isIgnored;
  };
}

function patternOf(line: string): readonly Pattern[] {
  const isException = line.startsWith("!");
  const path = posix.join("/", isException ? line.slice(1).trim() : line).replace(/(?!^)\/$/, "");
  try {
    return [{ form: new RegExp(`^${formOf(path.slice(1))}$`, "su"), isException }];
  } catch {
    // A class without an end, which Go's matching refuses as well.
    return [];
  }
}

/** `**` passes over directories, `*` and `?` do not; classes are the same in both languages, but for how they are turned round. */
const formOf = (pattern: string): string =>
  pattern.replaceAll(/\*\*\/?|\*|\?|\[(?:\\.|[^\]\\])*\]|\\.|[^*?[\\]/gsu, (part) => {
    if (part === "**/") return "(?:.*/)?";
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    if (part.length > 1) return part.startsWith("[") ? part : escaped(part.slice(1));
    return escaped(part);
  });

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`);
