import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import type { Writer } from "#kernel/model/index.ts";
import type { ServedResource, Validation } from "../kinds/served-resource.ts";

/**
 * What the owner of a custom kind decides beyond its schema, in this process and without side effects: the place of an
 * admission webhook. Asked after pruning, defaults and validation by schema.
 */
export interface KindAdmission {
  readonly group: string;
  readonly kind: string;
  /**
   * The owner's validation covers the schema, in its own words: it is shown objects that their schema refuses too, and its
   * causes stand in the place of the schema's.
   */
  readonly coversSchema?: boolean;
  /** What is added to a new object or taken from it. `writer` is who creates it; undefined for this process itself. */
  prepareForCreate(object: JsonObject, writer?: Writer): JsonObject;
  /**
   * Present when a controller of the owner does what objects of this kind say, and has to do it with the rights of their writers: that
   * part of an object. Whoever changes it becomes one of its writers.
   */
  actsOn?(object: JsonObject): JsonValue | undefined;
  /** Present where the owner's controllers go by a status: the part of it that nobody else but administrators may write. */
  ownStatus?(status: JsonObject): JsonValue | undefined;
  /** Everything against the object; with `old`, everything against this change of it. */
  validate(object: JsonObject, old?: JsonObject, server?: AdmissionServer): Validation;
}

/** What an admission may ask: only what the server knows at this moment, without waiting. */
export interface AdmissionServer {
  /** Whether objects of this kind can be created now. */
  readonly serves: (apiVersion: string, kind: string) => boolean;
}

/** The kind with its owner's rules; objects that their schema refuses are shown only to an owner who covers the schema. */
export function withAdmission(
  served: ServedResource,
  admissions: readonly KindAdmission[],
  server: AdmissionServer,
): ServedResource {
  const admission = admissions.find(({ group, kind }) => group === served.type.group && kind === served.type.kind);
  if (admission === undefined) return served;
  const judged = (bySchema: Validation, object: JsonObject, old?: JsonObject): Validation => {
    const isRefused = bySchema.causes.length > 0;
    if (isRefused && admission.coversSchema !== true) return bySchema;
    const { causes, warnings } = admission.validate(object, old, server);
    // Nothing that the schema refuses gets in, whatever the owner has overlooked.
    if (isRefused && causes.length === 0) return bySchema;
    return { causes, warnings: [...bySchema.warnings, ...warnings] };
  };
  return {
    ...served,
    ...(admission.actsOn === undefined ? {} : { actsOn: (object) => admission.actsOn?.(object) }),
    ...(admission.ownStatus === undefined ? {} : { ownStatus: (status) => admission.ownStatus?.(status) }),
    prepareForCreate: (object, writer) => admission.prepareForCreate(served.prepareForCreate(object), writer),
    validateCreate: (object) => judged(served.validateCreate(object), object),
    validateUpdate: (object, old) => judged(served.validateUpdate(object, old), object, old),
  };
}
