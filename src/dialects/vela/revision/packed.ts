import { gunzipSync, gzipSync } from "node:zlib";
import { type JsonObject, type JsonValue, objectAt, textAt } from "#lib/base/index.ts";

// Specs that may be large: from a size on, their content is one compressed text, as KubeVela stores it.

const compressFrom = 32 * 1024;
/** A bound for what a damaged or hostile object may unfold to. */
const maxUnpacked = 64 * 2 ** 20;

/** Undefined if the content is to be stored as it is. */
export function packed(content: JsonValue): { readonly compression: JsonObject } | undefined {
  const text = JSON.stringify(content);
  if (text.length < compressFrom) return undefined;
  return { compression: { type: "gzip", data: gzipSync(text).toString("base64") } };
}

/** What `packed` made of the content; undefined if the spec has it as it is. Throws if it cannot be read. */
export function unpacked(spec: JsonObject | undefined): unknown {
  const data = textAt(objectAt(spec), "compression", "data");
  if (data === undefined) return undefined;
  return JSON.parse(gunzipSync(Buffer.from(data, "base64"), { maxOutputLength: maxUnpacked }).toString());
}
