import type { JsonValue } from "#lib/base/index.ts";

/** `null` is no type of its own: `nullable` says that. */
export type SchemaType = "object" | "array" | "string" | "integer" | "number" | "boolean";

/** One `x-kubernetes-validations` rule: a CEL expression over `self` (and `oldSelf` on updates). */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate";
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/**
 * A Kubernetes structural schema as it stands in a CustomResourceDefinition: the part of OpenAPI v3 that tells, for
 * every field, whether it is known, what it defaults to and what it may hold. `$ref` never stands in a
 * CustomResourceDefinition; the schemas of built-in kinds use it to share definitions.
 */
export interface Schema {
  readonly $ref?: string;
  readonly type?: SchemaType;
  readonly format?: string;
  readonly title?: string;
  readonly description?: string;
  /** Filled in where the member is absent, when an object is written. */
  readonly default?: JsonValue;
  readonly example?: JsonValue;
  /** Null is kept as a value; elsewhere it counts as absent. */
  readonly nullable?: boolean;
  readonly enum?: readonly JsonValue[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  /** RE2 syntax, searched anywhere in the text. */
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  /** One schema for all items: lists of fixed shape (tuples) are not structural. */
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  /** Members that are not declared are kept. `false` is refused: absence says that. */
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  /** The value is a whole object with apiVersion, kind and metadata of its own. */
  readonly "x-kubernetes-embedded-resource"?: boolean;
  /** An integer or a text, as ports and percentages are. */
  readonly "x-kubernetes-int-or-string"?: boolean;
  /** How apply merges the list: replaced whole, item by item as a set, or by keys. */
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  /** How apply merges the object: replaced whole, or member by member (the default). */
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
  /** Only in schemas of built-in kinds: how a strategic merge patch treats the field. */
  readonly "x-kubernetes-patch-strategy"?: string;
  readonly "x-kubernetes-patch-merge-key"?: string;
}
