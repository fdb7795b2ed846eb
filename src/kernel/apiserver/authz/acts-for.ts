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

// A Workflow's controller acts with the rights that all recorded writers of the Workflow have at that time.

/** `replaces`: the whole object was sent. */
interface Written {
  readonly writers?: readonly Identity[] | undefined;
  readonly replaces: boolean;
}

/** Records the creator, or whoever replaces the object, as its writer and adds whoever changes what it does. */
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

/** The creator that a kind sees; undefined for this process. Several writers count as nobody in particular. */
export function soleWriter(writers: readonly Identity[] | undefined): Writer | undefined {
  if (writers === undefined || writers.length === 1) return writers?.[0];
  return { user: unverifiedUser, groups: [] };
}

/** Administrators do not limit what the others may do. */
const limited = (writers: readonly Identity[]): readonly Writer[] =>
  writers.filter((writer) => !isMaster(writer)).map(({ user, groups }) => ({ user, groups }));
