// `.dockerignore` is applied by the client: Go's path patterns with `**`, of which the last match decides.

import { posix } from "node:path";

export type Ignores = (path: string) => boolean;

interface Pattern {
  readonly form: RegExp;
  readonly isException: boolean;
}

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
    // An unclosed class, which Go rejects too.
    return [];
  }
}

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
