import type { JsonObject } from "#lib/base/index.ts";
import { serveBuiltIn, type BuiltIn } from "../kinds/built-in.ts";
import type { ServedResource } from "../kinds/served-resource.ts";

/** What one write makes of an object, without a store. */
export interface Written {
  readonly object: JsonObject;
  readonly unknown: readonly string[];
  /** `Reason field: message`, the reason without its common beginning. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

const stamp = { uid: "11111111-2222-4333-8444-555555555555", creationTimestamp: "2026-01-31T12:00:00Z" };

const describe = (validation: ReturnType<ServedResource["validateCreate"]>) => ({
  errors: validation.causes.map(
    ({ reason = "", field = "", message = "" }) => `${reason.replace("FieldValue", "")} ${field}: ${message}`,
  ),
  warnings: validation.warnings,
});

/** Takes an object through the steps of POST: prune, defaults, preparation, validation. */
export function writeNew(resource: ServedResource, sent: JsonObject): Written {
  const metadata = { namespace: "default", ...(sent["metadata"] as JsonObject), ...stamp };
  const { object: pruned, unknown } = resource.prune({ ...sent, metadata });
  const object = resource.prepareForCreate(resource.withDefaults(pruned));
  return { object, unknown, ...describe(resource.validateCreate(object)) };
}

/** Takes an object through the steps of PUT, on the main endpoint or on `/status`. */
export function writeOver(
  resource: ServedResource,
  old: JsonObject,
  sent: JsonObject,
  endpoint: "main" | "status" = "main",
): Written {
  const { object: pruned, unknown } = resource.prune(sent);
  const filled = resource.withDefaults(pruned);
  if (endpoint === "status") {
    const object = resource.prepareForStatusUpdate(filled, old);
    return { object, unknown, ...describe(resource.validateStatusUpdate(object, old)) };
  }
  const object = resource.prepareForUpdate(filled, old);
  return { object, unknown, ...describe(resource.validateUpdate(object, old)) };
}

/** A built-in kind, served. */
export const served = (kind: BuiltIn): ServedResource => serveBuiltIn(kind);
