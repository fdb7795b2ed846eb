// Bytes become a text in one place, so that a file, a request and a test are refused for the same reasons.

import { decodeUtf8 } from "#lib/json/index.ts";
import type { Reporter } from "./diagnostics.ts";

/** Bytes of a definition; no more of a file need be read than one more. */
export const maxBytes = 1024 * 1024;

/** The text of a file, without its byte order mark; undefined, reported, when it is too large or no text. */
export function textOf(bytes: Uint8Array, { error }: Reporter): string | undefined {
  if (bytes.length > maxBytes) {
    error({ scope: "" }, "too-large", "the file is larger than 1 MiB");
    return undefined;
  }
  const decoded = decodeUtf8(bytes);
  if (decoded.ok) return decoded.value.replace(/^\uFEFF/, "");
  const { line, column, message } = decoded.error;
  error({ scope: "", at: { line, column } }, "yaml-syntax", message);
  return undefined;
}
