import type { Instant, JsonObject, JsonValue } from "#lib/base/index.ts";
import type { CompileRule } from "#lib/schema/index.ts";
import type { Writer } from "#kernel/model/index.ts";
import type { ServedResource, Validation } from "../kinds/served-resource.ts";

/** Rules beyond the schema, without side effects; they run after pruning, defaults and the schema. */
export interface KindAdmission {
  readonly group: string;
  readonly kind: string;
  /** The validation covers the schema: it also sees objects the schema refuses, and its causes replace the schema's. */
  readonly coversSchema?: boolean;
  /** `writer` creates the object; undefined for this process. */
  prepareForCreate(object: JsonObject, writer?: Writer): JsonObject;
  /** Completes an object that replaces `old`. */
  prepareForUpdate?(object: JsonObject, old: JsonObject): JsonObject;
  /** For kinds whose controller acts for the writers: the part of the object that says what is done. */
  actsOn?(object: JsonObject): JsonValue | undefined;
  /** The part of a status that only controllers and administrators may write; `before` is the stored status. */
  ownStatus?(status: JsonObject, before?: JsonObject): JsonValue | undefined;
  /** Works out in steps what `validate` takes of the same large object, which does not change in between. */
  ahead?(object: JsonObject): Iterable<undefined>;
  /** With `old`, checks the change. */
  validate(object: JsonObject, old?: JsonObject, server?: AdmissionServer): Validation;
  /** Awaited before a valid object is stored. */
  reviewed?(object: JsonObject): Promise<Validation>;
  /** Why others than this process may not delete an object now. */
  deletionReviewed?(object: JsonObject): Promise<readonly string[]>;
  /** `others`: writes of this process are not reviewed. */
  readonly reviews?: "others";
}

export interface AdmissionServer {
  /** Whether objects of this kind can be created now. */
  readonly serves: (apiVersion: string, kind: string) => boolean;
}

export interface RegistryOptions {
  /** For transition times of conditions. */
  readonly now: () => Instant;
  /** Without it validation rules cause a warning and are not evaluated. */
  readonly compileRule?: CompileRule;
  readonly admissions?: readonly KindAdmission[];
}

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
    // What the schema refuses stays refused.
    if (isRefused && causes.length === 0) return bySchema;
    return { causes, warnings: [...bySchema.warnings, ...warnings] };
  };
  return {
    ...served,
    ...(admission.actsOn === undefined ? {} : { actsOn: (object) => admission.actsOn?.(object) }),
    ...(admission.ownStatus === undefined
      ? {}
      : { ownStatus: (status, before) => admission.ownStatus?.(status, before) }),
    ...(admission.ahead === undefined ? {} : { ahead: (object) => admission.ahead?.(object) ?? [] }),
    prepareForCreate: (object, writer) => admission.prepareForCreate(served.prepareForCreate(object), writer),
    ...(admission.prepareForUpdate === undefined
      ? {}
      : {
          prepareForUpdate: (object, old) =>
            admission.prepareForUpdate?.(served.prepareForUpdate(object, old), old) ?? object,
        }),
    ...(admission.reviewed === undefined
      ? {}
      : {
          ...(admission.reviews === undefined ? {} : { reviews: admission.reviews }),
          review: async (object: JsonObject) => (await admission.reviewed?.(object)) ?? { causes: [], warnings: [] },
        }),
    ...(admission.deletionReviewed === undefined
      ? {}
      : { reviewDeletion: async (object: JsonObject) => (await admission.deletionReviewed?.(object)) ?? [] }),
    validateCreate: (object) => judged(served.validateCreate(object), object),
    validateUpdate: (object, old) => judged(served.validateUpdate(object, old), object, old),
  };
}
