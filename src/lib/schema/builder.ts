import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import type { Schema, ValidationRule } from "./schema.ts";

declare const typeOf: unique symbol;

/** A structural schema together with the TypeScript type of its values, which exists only for the compiler. */
export interface Shape<T = unknown> {
  readonly schema: Schema;
  readonly [typeOf]?: () => T;
}

/** A member that may be absent. Only members of `s.object` can be optional. */
export interface OptionalShape<T = unknown> extends Shape<T> {
  readonly optional: true;
}

/** The type of the values a shape describes, as the API server returns them: defaults are filled in. */
export type TypeOf<S extends Shape> = S extends Shape<infer T> ? T : never;
export type Fields = Readonly<Record<string, Shape>>;
/** Names of the members made by `s.optional`. */
type OptionalKeys<F extends Fields> = { [K in keyof F]: F[K] extends OptionalShape ? K : never }[keyof F];
/** The object type whose members have the types of `F`. */
export type ObjectType<F extends Fields> = {
  readonly [K in Exclude<keyof F, OptionalKeys<F>>]: TypeOf<F[K]>;
} & { readonly [K in OptionalKeys<F>]?: TypeOf<F[K]> };

export interface Options<T> {
  /** One line of help: it is what `kubectl explain` prints. */
  readonly description?: string;
  /** Filled in when the field is absent, so that readers always find a value. */
  readonly default?: T;
  /** Null may be written and is kept; readers must expect it. */
  readonly nullable?: boolean;
  /** CEL rules over the value as `self`; on updates `oldSelf` is the value before. */
  readonly rules?: readonly ValidationRule[];
}

export interface StringOptions extends Options<string> {
  /** In code points, like `maxLength`. */
  readonly minLength?: number;
  readonly maxLength?: number;
  /** RE2 syntax, searched anywhere in the text unless anchored. */
  readonly pattern?: string;
  readonly format?: string;
  /** Keep what another version of the kind has in this object; writers of this version may write a text. */
  readonly preserveUnknown?: boolean;
}

export interface NumberOptions extends Options<number> {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  /** Above 0; meant in decimal, so that 0.3 is a multiple of 0.1. */
  readonly multipleOf?: number;
  readonly format?: string;
}

export interface ObjectOptions extends Options<JsonObject> {
  readonly minProperties?: number;
  readonly maxProperties?: number;
  /** Keep members that are not declared instead of dropping them. */
  readonly preserveUnknown?: boolean;
  /** Server-side apply replaces the value whole. */
  readonly atomic?: boolean;
  /** Constraints only, on members that are declared here: junctors may not declare any. */
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

export interface ListOptions<T> extends Options<readonly T[]> {
  readonly minItems?: number;
  readonly maxItems?: number;
  /** The members that identify an item: server-side apply merges items by them, and they must be unique. */
  readonly key?: string | readonly string[];
  /** A set of scalars: no value twice. */
  readonly set?: boolean;
}

/** What `s.scalar` describes. */
export type Scalar = string | number | boolean;

/** The one place where a schema gets its type. */
function shape<T>(schema: Schema, options: Options<T> = {}): Shape<T> {
  const { rules, ...keywords } = options;
  const all = { ...schema, ...keywords, ...(rules === undefined ? {} : { "x-kubernetes-validations": rules }) };
  // Options are the schema's keywords under their own names; a default is JSON by the types of the callers below.
  return { schema: all as Schema };
}

const preserving = { "x-kubernetes-preserve-unknown-fields": true } as const;

/** Members are demanded unless they are optional or have a default. */
function object<const F extends Fields>(fields: F, options: ObjectOptions = {}): Shape<ObjectType<F>> {
  const { preserveUnknown, atomic, ...rest } = options;
  const names = Object.keys(fields);
  const required = names.filter((name) => isRequired(fields[name]));
  const schema: Schema = {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, fields[name]?.schema ?? {}])),
    ...(required.length === 0 ? {} : { required }),
    ...(preserveUnknown === true ? preserving : {}),
    ...(atomic === true ? { "x-kubernetes-map-type": "atomic" } : {}),
  };
  return { schema: shape(schema, rest).schema };
}

// A member with a default is filled in before validation: demanding it from writers would be wrong.
const isRequired = (field: Shape | undefined): boolean =>
  field !== undefined && !("optional" in field) && field.schema.default === undefined;

/** Without `key` or `set` apply replaces the list whole. */
function list<T>(item: Shape<T>, options: ListOptions<T> = {}): Shape<readonly T[]> {
  const { key, set, ...rest } = options;
  const keys = key === undefined ? undefined : typeof key === "string" ? [key] : key;
  const kind: Schema =
    keys !== undefined
      ? { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys }
      : { "x-kubernetes-list-type": set === true ? "set" : "atomic" };
  return shape({ type: "array", items: item.schema, ...kind }, rest);
}

function oneOf<const V extends string>(values: readonly V[], options: Options<V>): Shape<V>;
function oneOf<const V extends string>(...values: readonly V[]): Shape<V>;
/** Either a list of values with options, or the values themselves. */
function oneOf(first: string | readonly string[], ...rest: readonly unknown[]): Shape<string> {
  if (typeof first !== "string") {
    const [options] = rest;
    return shape({ type: "string", enum: first }, typeof options === "object" && options !== null ? options : {});
  }
  return shape({ type: "string", enum: [first, ...rest.filter((value) => typeof value === "string")] });
}

/**
 * The schema builder: every function returns a shape, which is plain data. It emits only what a
 * CustomResourceDefinition may contain.
 *
 * ```ts
 * const Spec = s.object({
 *   project: s.string({ minLength: 1, description: "Path of the project, group/name." }),
 *   stage: s.optional(s.string()),
 *   inputs: s.optional(s.map(s.scalar())),
 * }); type Spec = TypeOf<typeof Spec>;
 * ```
 */
export const s = {
  object,
  list,
  oneOf,
  string: ({ preserveUnknown, ...options }: StringOptions = {}): Shape<string> =>
    shape({ type: "string", ...(preserveUnknown === true ? preserving : {}) }, options),
  /** 64-bit unless `format` says `int32`. */
  integer: (options?: NumberOptions): Shape<number> => shape({ type: "integer", format: "int64" }, options),
  number: (options?: NumberOptions): Shape<number> => shape({ type: "number" }, options),
  boolean: (options?: Options<boolean>): Shape<boolean> => shape({ type: "boolean" }, options),
  /** An object with arbitrary keys. */
  map: <T>(
    value: Shape<T>,
    options: Omit<ObjectOptions, "preserveUnknown"> = {},
  ): Shape<Readonly<Record<string, T>>> => {
    const { atomic, ...rest } = options;
    const mapType = atomic === true ? { "x-kubernetes-map-type": "atomic" as const } : {};
    return { schema: shape({ type: "object", additionalProperties: value.schema, ...mapType }, rest).schema };
  },
  /** Marks a member of an object as one that may be absent. */
  optional: <T>(value: Shape<T>): OptionalShape<T> => ({ schema: value.schema, optional: true }),
  /** An RFC 3339 instant as text. */
  time: (options?: Options<string>): Shape<string> => shape({ type: "string", format: "date-time" }, options),
  intOrString: (options?: Options<number | string>): Shape<number | string> =>
    shape({ "x-kubernetes-int-or-string": true }, options),
  /** An amount such as `500m` or `1Gi`; a plain number is accepted too. */
  quantity: (options?: Options<number | string>): Shape<number | string> =>
    shape({ "x-kubernetes-int-or-string": true }, options),
  /** A text, number or boolean. A structural schema cannot say so: the kind's own validation checks it. */
  scalar: (options?: Options<Scalar>): Shape<Scalar> =>
    shape({ "x-kubernetes-preserve-unknown-fields": true }, options),
  /** Any JSON value, kept as it is. */
  any: (options?: Options<JsonValue>): Shape<JsonValue> =>
    shape({ "x-kubernetes-preserve-unknown-fields": true }, options),
  /** Any JSON object, kept as it is. */
  anyObject: (options?: Options<JsonObject>): Shape<JsonObject> =>
    shape({ type: "object", "x-kubernetes-preserve-unknown-fields": true }, options),
  /** A whole Kubernetes object inside another: its apiVersion and kind are demanded, the rest is kept as it is. */
  embedded: (options?: Options<JsonObject>): Shape<JsonObject> =>
    shape(
      { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
      options,
    ),
  /** A schema written out by hand, for what the builder has no word for. */
  raw: <T>(schema: Schema): Shape<T> => ({ schema }),
} as const;
