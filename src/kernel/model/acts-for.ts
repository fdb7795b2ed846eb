import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { asJson, type KubeObject } from "./object.ts";

// A controller acts for everybody who wrote part of what an object does, administrators excepted: each of them must be
// allowed every action. The server records who wrote the object in an annotation that clients cannot set; the
// controller adds to the status who wrote what the object refers to. Without a record, administrators wrote everything.
//
//     metadata.annotations["slipway.dev/acts-for"]   {"user": …, "groups": […]}, or a list of these
//     status.actsFor                                 a list of these

/** Set by the server alone; a client's value is replaced by the stored one. */
export const actsForAnnotation = "slipway.dev/acts-for";

/** The user for "unknown", and for several writers together. */
export const unverifiedUser = "unverified";

/** A writer, as verified by the server. */
export interface Writer {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Who wrote the object. An unreadable annotation names a user without rights. */
export function notedWriters({ metadata }: JsonObject): readonly Writer[] {
  const { annotations } = isJsonObject(metadata) ? metadata : {};
  const note = isJsonObject(annotations) ? annotations[actsForAnnotation] : undefined;
  if (typeof note !== "string") return [];
  const read = parsed(note);
  return Array.isArray(read) && read.length > 0 ? listOf(read).map(readWriter) : [readWriter(read)];
}

/** Everybody a controller acts for: the writers of the object and of what it refers to. */
export function writersOf(object: KubeObject): readonly Writer[] {
  const json = asJson(object);
  const { actsFor } = isJsonObject(json["status"]) ? json["status"] : {};
  return distinctWriters([...notedWriters(json), ...listOf(actsFor).map(readWriter)]);
}

/** Without duplicates, in order. */
export const distinctWriters = (writers: readonly Writer[]): readonly Writer[] =>
  writers.length < 2 ? writers : [...new Map(writers.map((writer) => [JSON.stringify(writer), writer])).values()];

/** The annotation's value; undefined for nobody. */
export const writersNote = (writers: readonly Writer[]): string | undefined =>
  writers.length === 0 ? undefined : JSON.stringify(writers.length === 1 ? writers[0] : writers);

function readWriter(value: JsonValue | undefined): Writer {
  const { user, groups } = isJsonObject(value) ? value : {};
  return {
    user: typeof user === "string" ? user : "system:anonymous",
    groups: listOf(groups).filter((group) => typeof group === "string"),
  };
}

const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);

function parsed(note: string): JsonValue | undefined {
  try {
    return JSON.parse(note) as JsonValue;
  } catch {
    // Damaged: a user without rights.
    return undefined;
  }
}
