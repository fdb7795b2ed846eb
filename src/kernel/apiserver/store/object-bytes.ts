import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { storeCorrupt } from "./errors.ts";
import { ownBuffers, type Space } from "./slab.ts";

// An object's JSON is encoded once, with resourceVersion as the first member of metadata. The disk, GET and watches use
// these bytes:
//
//   {"apiVersion":…,"kind":…,"metadata":{"resourceVersion":"7",…},…,"spec":{…},"status":{…}}
//
// spec and status come last: most writes change one of them, and the bytes of the other are copied from the revision
// before. No other container comes before metadata, so the first `"metadata":{` is the right one; inside a string its
// quotes would be escaped.

const marker = '"metadata":{';
const member = '"resourceVersion":"';

const isContainer = (value: unknown): boolean => typeof value === "object" && value !== null;

/** Positions of spec and status; [0, 0] for one that is absent or a scalar. */
export interface Parts {
  readonly spec: Range;
  readonly status: Range;
}

type Range = readonly [start: number, end: number];

/** A revision whose bytes may be reused: `parsed` is the object that `bytes` were made from or parsed to. */
export interface Earlier {
  readonly bytes: Buffer;
  readonly parsed: JsonObject | undefined;
  readonly parts: Parts | undefined;
}

/** An object's JSON: texts to encode and bytes to copy. */
export interface ObjectText {
  readonly pieces: readonly Piece[];
  readonly bytes: number;
  readonly parts: Parts;
}

interface Piece {
  readonly source: string | Buffer;
  readonly bytes: number;
}

const specHead: Piece = { source: ',"spec":', bytes: 8 };
const statusHead: Piece = { source: ',"status":', bytes: 10 };
const closing: Piece = { source: "}", bytes: 1 };

export function writeText(text: ObjectText, target: Buffer, at: number): void {
  let position = at;
  for (const { source, bytes } of text.pieces) {
    if (typeof source !== "string") target.set(source, position);
    // ASCII is copied without looking at each character.
    else target.write(source, position, bytes, bytes === source.length ? "latin1" : "utf8");
    position += bytes;
  }
}

/** A shallow copy of the object and its metadata with this resourceVersion. */
export function atRevision(object: JsonObject, revision: number): JsonObject {
  const { metadata } = object;
  if (!isJsonObject(metadata)) throw new Error("a stored object needs metadata");
  const own: Record<string, JsonValue | undefined> = { resourceVersion: String(revision) };
  for (const name of Object.keys(metadata)) if (name !== "resourceVersion") setOwn(own, name, metadata[name]);
  const copy: Record<string, JsonValue | undefined> = {};
  for (const name of Object.keys(object)) setOwn(copy, name, name === "metadata" ? own : object[name]);
  return copy;
}

/** Assigning to `__proto__` would set the prototype. */
function setOwn(target: Record<string, JsonValue | undefined>, name: string, value: JsonValue | undefined): void {
  if (name !== "__proto__") target[name] = value;
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

/** The text of an object made by `atRevision`; parts equal to the earlier revision's are copied. */
export function objectText(object: JsonObject, earlier?: Earlier): ObjectText {
  const pieces = [pieceOf(restJson(object))];
  const spec = addPart(pieces, specHead, object["spec"], reusable("spec", object, earlier));
  const status = addPart(pieces, statusHead, object["status"], reusable("status", object, earlier));
  pieces.push(closing);
  return { pieces, bytes: lengthOf(pieces), parts: { spec, status } };
}

const pieceOf = (source: string | Buffer): Piece => ({ source, bytes: Buffer.byteLength(source) });

function lengthOf(pieces: readonly Piece[]): number {
  let bytes = 0;
  for (const piece of pieces) bytes += piece.bytes;
  return bytes;
}

/** Adds a member that is an object or a list; returns the position of its value. */
function addPart(pieces: Piece[], head: Piece, value: JsonValue | undefined, known: Buffer | undefined): Range {
  if (!isContainer(value)) return absent;
  pieces.push(head);
  const start = lengthOf(pieces);
  const piece = pieceOf(known ?? JSON.stringify(value));
  pieces.push(piece);
  return [start, start + piece.bytes];
}

function restJson(object: JsonObject): string {
  const rest: Record<string, JsonValue | undefined> = {};
  let [hasMetadata, isOrdered] = [false, true];
  for (const name of Object.keys(object)) {
    const value = object[name];
    const isInner = isContainer(value);
    if (isInner && (name === "spec" || name === "status")) continue;
    if (name === "metadata") hasMetadata = true;
    else if (isInner && !hasMetadata) isOrdered = false;
    setOwn(rest, name, value);
  }
  return JSON.stringify(isOrdered ? rest : metadataFirst(rest)).slice(0, -1);
}

function metadataFirst(object: JsonObject): JsonObject {
  const members = Object.entries(object);
  const plain = Object.fromEntries(members.filter(([, value]) => !isContainer(value)));
  const containers = Object.fromEntries(members.filter(([, value]) => isContainer(value)));
  return { ...plain, metadata: object["metadata"], ...containers };
}

function reusable(name: keyof Parts, object: JsonObject, earlier: Earlier | undefined): Buffer | undefined {
  if (earlier?.parts === undefined || earlier.parsed?.[name] !== object[name]) return undefined;
  const [start, end] = earlier.parts[name];
  return end === 0 ? undefined : earlier.bytes.subarray(start, end);
}

const absent: Range = [0, 0];

export function metadataStart(json: Buffer): number {
  const at = json.indexOf(marker, 0, "latin1");
  if (at < 0) throw storeCorrupt("an object has no metadata");
  return at + marker.length;
}

/** Copies stored bytes to `space` with the resourceVersion, if absent. Another resourceVersion is corrupt. */
export function withRevision(json: Buffer, revision: number, space: Space = ownBuffers): Buffer {
  const at = metadataStart(json);
  const insert = `${member}${revision}"`;
  const found = json.toString("latin1", at, at + insert.length);
  if (!found.startsWith(member)) return spliced(json, at, `${insert},`, space);
  if (found !== insert) throw storeCorrupt(`an object of revision ${revision} names another`);
  const bytes = space.take(json.length);
  bytes.set(json);
  return bytes;
}

function spliced(json: Buffer, at: number, insert: string, space: Space): Buffer {
  const bytes = space.take(json.length + insert.length);
  json.copy(bytes, 0, 0, at);
  bytes.write(insert, at, "latin1");
  json.copy(bytes, at + insert.length, at);
  return bytes;
}
