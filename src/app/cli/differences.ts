import { isJsonObject, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";

/** One place at which two documents differ; a value that is absent is undefined. */
export interface Difference {
  readonly path: string;
  readonly from?: JsonValue;
  readonly to?: JsonValue;
}

/**
 * Where two objects differ, as deep as both have objects there. Lists are compared as wholes: without their keys nobody could tell an item
 * that moved from one that changed. Status and what servers write into metadata are left out. In the order of paths.
 */
export function differencesOf(live: JsonObject, wanted: JsonObject): readonly Difference[] {
  return compare(comparable(live), comparable(wanted), "").toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** What people write. */
function comparable({ status: _status, metadata, ...rest }: JsonObject): JsonObject {
  const { labels = {}, annotations = {} } = isJsonObject(metadata) ? metadata : {};
  return { ...rest, metadata: { labels, annotations } };
}

function compare(from: JsonValue | undefined, to: JsonValue | undefined, path: string): readonly Difference[] {
  if (isJsonObject(from) && isJsonObject(to)) {
    const names = new Set([...Object.keys(from), ...Object.keys(to)]);
    return [...names].flatMap((name) =>
      compare(own(from, name), own(to, name), path === "" ? name : `${path}.${name}`),
    );
  }
  if (jsonEquals(from, to)) return [];
  return [{ path, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }];
}

/** Names are users' and may be those of inherited members. */
const own = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;
