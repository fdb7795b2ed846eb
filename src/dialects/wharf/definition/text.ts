import { decodeUtf8 } from "#lib/json/index.ts";
import type { Reporter } from "./diagnostics.ts";

export const maxBytes = 1024 * 1024;

/** The text without its byte order mark; undefined, after reporting, if it is too large or no UTF-8. */
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
