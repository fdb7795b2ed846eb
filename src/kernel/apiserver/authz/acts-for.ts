import { isJsonObject, jsonEquals, type JsonObject } from "#lib/base/index.ts";
import { listAt, textAt } from "#kernel/specs/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { metadataOf, withMetadata } from "../verbs/metadata.ts";
import { type Identity, isMaster } from "./identity.ts";

// A Workflow says what is to be created, and a controller creates it. Controllers are parts of this process and may do everything, so
// that whoever may write a Workflow would be able to do everything, too. Its controller therefore acts for whoever wrote it: the server
// notes the writer in an annotation that nobody else can set, and the controller has a client of his.
//
//   absent                      who wrote it may do everything, or it is from this process itself
//   {"user": …, "groups": …}    its writer; his roles count as they are when something is done

/** Set by the server alone: what a client sends is put back to what was stored. */
export const actsForAnnotation = "slipway.dev/acts-for";

/**
 * The object with its writer noted: `writer` when it is new or what it does has changed, else whoever was noted. The object itself
 * when its kind does nothing for anybody, and when this process writes (`writer` is absent then).
 */
export function withWriter(
  { actsOn }: Pick<ServedResource, "actsOn">,
  object: JsonObject,
  old: JsonObject | undefined,
  writer: Identity | undefined,
): JsonObject {
  if (actsOn === undefined || writer === undefined) return object;
  const isSame = old !== undefined && jsonEquals(actsOn(object) ?? null, actsOn(old) ?? null);
  const noted = isSame ? noteIn(old) : noteOf(writer);
  if (noted === noteIn(object)) return object;
  const { annotations } = metadataOf(object);
  const { [actsForAnnotation]: _sent, ...others } = isJsonObject(annotations) ? annotations : {};
  const all = noted === undefined ? others : { ...others, [actsForAnnotation]: noted };
  return withMetadata(object, { annotations: Object.keys(all).length === 0 ? undefined : all });
}

/** For whom the object's controller acts; undefined for somebody who may do everything. What cannot be read is nobody. */
export function writerOf(object: JsonObject): Identity | undefined {
  const note = noteIn(object);
  if (note === undefined) return undefined;
  const read = parsed(note);
  const groups = listAt(read, "groups").filter((group) => typeof group === "string");
  return { user: textAt(read, "user") ?? "system:anonymous", groups };
}

const noteIn = (object: JsonObject): string | undefined => textAt(object, "metadata", "annotations", actsForAnnotation);

const noteOf = (writer: Identity): string | undefined =>
  isMaster(writer) ? undefined : JSON.stringify({ user: writer.user, groups: writer.groups });

function parsed(note: string): JsonObject {
  try {
    const value: unknown = JSON.parse(note);
    return isJsonObject(value) ? value : {};
  } catch {
    // Damaged: it names nobody, who may do nothing.
    return {};
  }
}
