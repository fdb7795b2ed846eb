import { extname } from "node:path";
import { resultsError } from "./errors.ts";

const longestFileName = 120;
const longestName = 4096;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const illegal = /[\u0000-\u001f\u007f<>:"/\\|?*]/g;

/** The last segment of a name as a valid file name. It is always prefixed with `{artifactId}_`. */
export function fileNameOf(name: string): string {
  const last = name.split(/[/\\]/).findLast((segment) => segment !== "") ?? "";
  const bytes = Buffer.from(last.replace(illegal, "_"));
  let end = Math.min(bytes.length, longestFileName);
  while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end).replace(/[. ]+$/, (ending) => "_".repeat(ending.length)) || "_";
}

export function checkName(stepId: number, name: string): void {
  const length = Buffer.byteLength(name);
  if (name !== "" && length <= longestName && !name.includes("\0")) return;
  const found = name.includes("\0") ? "one with a NUL" : `${length}`;
  throw resultsError(
    "artifact-name",
    `artifact of step ${stepId}: expected a name of 1 to ${longestName} bytes, found ${found}`,
  );
}

/** Types that browsers show. Everything else is downloaded, which is safe for untrusted bytes. */
const types: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".csv": "text/csv",
  ".gz": "application/gzip",
  ".html": "text/html",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".js": "text/javascript",
  ".json": "application/json",
  ".log": "text/plain",
  ".md": "text/markdown",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".tar": "application/x-tar",
  ".trx": "application/xml",
  ".txt": "text/plain",
  ".xml": "application/xml",
  ".yaml": "application/yaml",
  ".yml": "application/yaml",
  ".zip": "application/zip",
};

export const contentTypeOf = (name: string): string => {
  const ending = extname(name).toLowerCase();
  return Object.hasOwn(types, ending) ? (types[ending] ?? octets) : octets;
};

const octets = "application/octet-stream";
