import type { Fields, ObjectType, OptionalShape, Shape } from "./builder.ts";
import type { KindObjectMeta } from "./object-meta.ts";
import type { Schema } from "./schema.ts";

export type ColumnType = "integer" | "number" | "string" | "boolean" | "date";

/** A column of `kubectl get`. `priority` above 0 shows only with `-o wide`. */
export interface PrinterColumn {
  readonly name: string;
  /** A simple JSONPath from the object's root: `.status.phase`. */
  readonly jsonPath: string;
  readonly type: ColumnType;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
}

/** A kind without spec has no such member; an optional one may be absent. */
type SpecOf<S> =
  S extends OptionalShape<infer T> ? { readonly spec?: T } : S extends Shape<infer T> ? { readonly spec: T } : unknown;

/** Carries a type through inference; no value has this member. */
declare const objectOf: unique symbol;

/** A kind declared once, usable wherever the API client wants a resource type. `O` is the type of its objects. */
export interface Kind<O = unknown> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The kind of list answers: the kind with `List` behind it. */
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  /** What kubectl takes for the plural: `po` for `pods`. */
  readonly shortNames: readonly string[];
  /** Groups of kinds for `kubectl get`: `all`. */
  readonly categories: readonly string[];
  /** The whole object: `spec`, `status` and further root fields; `metadata` is understood. */
  readonly schema: Schema;
  readonly hasStatus: boolean;
  /** Beside the name, which always comes first. */
  readonly columns: readonly PrinterColumn[];
  /** JSON paths that field selectors may use. */
  readonly selectableFields: readonly string[];
  readonly [objectOf]?: () => O;
}

/** The type of a kind's objects: `type Build = ObjectOf<typeof Build>`. */
export type ObjectOf<K extends Kind> = K extends Kind<infer O> ? O : never;

/** Names that are left out follow from the kind: its singular in lower case, its list kind with `List` behind it. */
export interface KindDeclaration<S, T, F> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope: "Namespaced" | "Cluster";
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly description?: string;
  readonly spec?: S;
  /** Declaring a status makes it a subresource: only `/status` changes it. */
  readonly status?: T;
  /** Root fields beside `spec` and `status`, for kinds that have such. */
  readonly fields?: F;
  readonly columns?: readonly PrinterColumn[];
  readonly selectableFields?: readonly string[];
}

/** A kind's object: the envelope of every Kubernetes object with this kind's spec, status and fields. */
export type KindObject<S, T, F> = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: KindObjectMeta;
} & SpecOf<S> &
  (T extends Shape<infer Status> ? { readonly status?: Status } : unknown) &
  (F extends Fields ? ObjectType<F> : unknown);

/** Declares a kind. The result is plain data; the objects' type is inferred from the shapes. */
export function kind<
  const S extends Shape | undefined = undefined,
  const T extends Shape | undefined = undefined,
  const F extends Fields | undefined = undefined,
>(declaration: KindDeclaration<S, T, F>): Kind<KindObject<S, T, F>> {
  const { spec, status, fields, scope, description, ...rest } = declaration;
  const shapes: Record<string, Shape> = { ...fields };
  if (spec !== undefined) shapes.spec = spec;
  // A status is never demanded: new objects have none.
  const required = Object.keys(shapes).filter((name) => {
    const member = shapes[name];
    return member !== undefined && !("optional" in member) && member.schema.default === undefined;
  });
  if (status !== undefined) shapes.status = status;
  const schema: Schema = {
    type: "object",
    ...(description === undefined ? {} : { description }),
    properties: {
      apiVersion: { type: "string", description: "Group and version of the API this object is written for." },
      kind: { type: "string", description: "The kind of object this is." },
      metadata: { type: "object" },
      ...Object.fromEntries(Object.entries(shapes).map(([name, member]) => [name, member.schema])),
    },
    ...(required.length === 0 ? {} : { required }),
  };
  return {
    group: rest.group,
    version: rest.version,
    kind: rest.kind,
    listKind: `${rest.kind}List`,
    plural: rest.plural,
    singular: rest.singular ?? rest.kind.toLowerCase(),
    namespaced: scope === "Namespaced",
    shortNames: rest.shortNames ?? [],
    categories: rest.categories ?? [],
    schema,
    hasStatus: status !== undefined,
    columns: rest.columns ?? [],
    selectableFields: rest.selectableFields ?? [],
  };
}

/** A column that shows what a JSONPath finds. */
export const column = (
  name: string,
  jsonPath: string,
  options: Partial<Omit<PrinterColumn, "name" | "jsonPath">> = {},
): PrinterColumn => ({ name, jsonPath, type: "string", ...options });

/** The usual last column: time since creation. */
export const age = (): PrinterColumn => ({ name: "Age", jsonPath: ".metadata.creationTimestamp", type: "date" });
