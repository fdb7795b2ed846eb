import type { Admission } from "#kernel/dialect/index.ts";
import { ConcurrencyLimit, limitFinalizer } from "./kind.ts";
import { isJsonObject } from "#lib/base/index.ts";

/** Admission of ConcurrencyLimits. The finalizer at creation protects holders of a limit deleted at once. */
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
