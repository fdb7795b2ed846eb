import { isJsonObject, jsonEquals, type JsonObject } from "#lib/base/index.ts";
import {
  actsForAnnotation,
  distinctWriters,
  notedWriters,
  unverifiedUser,
  type Writer,
  writersNote,
} from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { metadataOf, withMetadata } from "../verbs/metadata.ts";
import { type Identity, isMaster } from "./identity.ts";

// A Workflow says what is to be created, and a controller creates it. Controllers are parts of this process and may do everything, so
// that whoever may write a Workflow would be able to do everything, too. Its controller therefore acts for whoever wrote it: the server
// notes the writers, and the controller has a client with the rights that all of them have. Roles count as they are when something is done.

/** A write that may have writers. `replaces`: the whole object was sent, and nothing of an earlier writer is left unread. */
interface Written {
  readonly writers?: readonly Identity[] | undefined;
  readonly replaces: boolean;
}

/**
 * The object with its writers noted. Whoever creates it, or replaces it whole, is its writer; whoever changes a part of what it does
 * becomes one beside those before; anybody else leaves the note as it was. The object itself when its kind does nothing for anybody,
 * and when this process writes (`writers` is absent then).
 */
export function withWriters(
  { actsOn }: Pick<ServedResource, "actsOn">,
  object: JsonObject,
  old: JsonObject | undefined,
  { writers, replaces }: Written,
): JsonObject {
  if (actsOn === undefined || writers === undefined) return object;
  const isSame = old !== undefined && jsonEquals(actsOn(object) ?? null, actsOn(old) ?? null);
  const before = old === undefined || (replaces && !isSame) ? [] : notedWriters(old);
  const noted = writersNote(isSame ? before : distinctWriters([...before, ...limited(writers)]));
  const annotations = metadataOf(object)["annotations"];
  const { [actsForAnnotation]: sent, ...others } = isJsonObject(annotations) ? annotations : {};
  if (noted === sent) return object;
  const all = noted === undefined ? others : { ...others, [actsForAnnotation]: noted };
  return withMetadata(object, { annotations: Object.keys(all).length === 0 ? undefined : all });
}

/** Who a kind is told has created an object; undefined for this process. Several writers are nobody in particular. */
export function soleWriter(writers: readonly Identity[] | undefined): Writer | undefined {
  if (writers === undefined || writers.length === 1) return writers?.[0];
  return { user: unverifiedUser, groups: [] };
}

/** Administrators take nothing away from what others may do. */
const limited = (writers: readonly Identity[]): readonly Writer[] =>
  writers.filter((writer) => !isMaster(writer)).map(({ user, groups }) => ({ user, groups }));
