import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { type Admission, admitted, collectProblems, isSameSpec } from "#kernel/dialect/index.ts";
import { CacheEntry } from "./kind.ts";

/** Marks entries that no controller of this server wrote; they are never used, so nobody can forge results. */
export const cacheEntryAdmission: Admission = {
  group: CacheEntry.group,
  kind: CacheEntry.kind,
  coversSchema: false,
  prepareForCreate(object, writer): JsonObject {
    if (writer === undefined) return object;
    const spec = isJsonObject(object["spec"]) ? object["spec"] : {};
    return { ...object, spec: { ...spec, writtenBy: writer.user } };
  },
  validate(object, old) {
    const found = collectProblems();
    if (old !== undefined && !isSameSpec(object, old))
      found.error(["spec"], "immutable", "an entry cannot be changed; delete it, and the step runs again");
    return admitted(found.problems);
  },
};
