import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { asJson, type KubeObject } from "./object.ts";

// For whom a controller acts: everybody who wrote a part of what an object has done, administrators excepted. An action must be allowed
// for each of them. The server notes who wrote the object in an annotation that nobody else can set; the controller adds, in the
// object's status, who wrote what the object refers to. Where nobody is noted, administrators wrote all of it.
//
//   metadata.annotations["slipway.dev/acts-for"]   {"user": …, "groups": […]}, or a list of these
//   status.actsFor                                 a list of these

/** Set by the server alone: what a client sends is put back to what was stored. */
export const actsForAnnotation = "slipway.dev/acts-for";

/** The user that stands for "not known", and for several writers together: one of them alone did not ask. */
export const unverifiedUser = "unverified";

/** Who wrote something, as the server has verified it. */
export interface Writer {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Who wrote the object itself. A note that cannot be read names a user without rights. */
export function notedWriters({ metadata }: JsonObject): readonly Writer[] {
  const { annotations } = isJsonObject(metadata) ? metadata : {};
  const note = isJsonObject(annotations) ? annotations[actsForAnnotation] : undefined;
  if (typeof note !== "string") return [];
  const read = parsed(note);
  return Array.isArray(read) && read.length > 0 ? listOf(read).map(readWriter) : [readWriter(read)];
}

/** Everybody a controller acts for when it does what the object says: who wrote it, and who wrote what it refers to. */
export function writersOf(object: KubeObject): readonly Writer[] {
  const json = asJson(object);
  const { actsFor } = isJsonObject(json["status"]) ? json["status"] : {};
  return distinctWriters([...notedWriters(json), ...listOf(actsFor).map(readWriter)]);
}

/** Each of them once, in the order they were named. */
export const distinctWriters = (writers: readonly Writer[]): readonly Writer[] =>
  writers.length < 2 ? writers : [...new Map(writers.map((writer) => [JSON.stringify(writer), writer])).values()];

/** The note about them; undefined for nobody. */
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
    // Damaged: it names nobody, who may do nothing.
    return undefined;
  }
}
