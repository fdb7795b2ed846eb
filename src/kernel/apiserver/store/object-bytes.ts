import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { storeCorrupt } from "./errors.ts";
import { ownBuffers, type Space } from "./slab.ts";

// The stored JSON leaves metadata.resourceVersion out; the served JSON has it as metadata's first member, spliced in as
// bytes. To find the place without parsing, stored text is arranged so that no object or array comes before `metadata` at
// the top: then the first `"metadata":{` in the text is the right one. Inside a string that text cannot occur, because a
// quote in a string is always preceded by a backslash and never followed by a colon and a brace.

const marker = '"metadata":{';
const member = '"resourceVersion":"';

const isContainer = (value: unknown): boolean => typeof value === "object" && value !== null;

const needsReorder = (object: JsonObject): boolean => {
  for (const name in object) {
    if (name === "metadata") return false;
    if (isContainer(object[name])) return true;
  }
  return false;
};

/** Stored JSON of an object, without its resourceVersion. Members keep their order except that containers follow `metadata`. */
export function storedJson(object: JsonObject): string {
  const { metadata } = object;
  if (!isJsonObject(metadata)) throw new Error("a stored object needs metadata");
  if (metadata["resourceVersion"] !== undefined) {
    return storedJson({ ...object, metadata: { ...metadata, resourceVersion: undefined } });
  }
  if (!needsReorder(object)) return JSON.stringify(object);
  const members = Object.entries(object);
  const plain = Object.fromEntries(members.filter(([, value]) => !isContainer(value)));
  const containers = Object.fromEntries(members.filter(([, value]) => isContainer(value)));
  return JSON.stringify({ ...plain, metadata, ...containers });
}

/** Index just behind the brace that opens `metadata`, where the resourceVersion goes. */
export function metadataStart(json: Buffer): number {
  const at = json.indexOf(marker, 0, "latin1");
  if (at < 0) throw storeCorrupt("an object has no metadata");
  return at + marker.length;
}

/** Served bytes: `source[from..]`, stored JSON, with the resourceVersion spliced in, written into bytes taken from `space`. */
export function withRevision(source: Buffer, from: number, revision: number, space: Space = ownBuffers): Buffer {
  const insert = `${member}${revision}",`;
  const at = source.indexOf(marker, from, "latin1") + marker.length;
  if (at < marker.length) throw storeCorrupt("an object has no metadata");
  const bytes = space.take(source.length - from + insert.length);
  const head = at - from;
  source.copy(bytes, 0, from, at);
  bytes.write(insert, head, "latin1");
  source.copy(bytes, head + insert.length, at);
  return bytes;
}

/** Undoes withRevision: the stored JSON. */
export function withoutRevision(bytes: Buffer, revision: number): Buffer {
  const at = metadataStart(bytes);
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + member.length + String(revision).length + 2)]);
}
