import type { Admission } from "#kernel/dialect/index.ts";
import { ConcurrencyLimit, limitFinalizer } from "./kind.ts";
import { isJsonObject } from "#lib/base/index.ts";

/**
 * What a server asks before it stores a ConcurrencyLimit: nothing beyond its schema. The finalizer is there from the start, which saves
 * the controller a write, and a limit that is deleted a moment later its holders.
 */
export const limitAdmission: Admission = {
  group: ConcurrencyLimit.group,
  kind: ConcurrencyLimit.kind,
  coversSchema: false,
  ownStatus: (status) => status,
  prepareForCreate({ status: _dropped, ...object }) {
    const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
    const finalizers = Array.isArray(metadata["finalizers"]) ? metadata["finalizers"] : [];
    if (finalizers.includes(limitFinalizer)) return object;
    return { ...object, metadata: { ...metadata, finalizers: [...finalizers, limitFinalizer] } };
  },
  validate: () => ({ causes: [], warnings: [] }),
};
