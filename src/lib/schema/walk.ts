import { getOrAdd } from "#lib/base/index.ts";
import type { Schema } from "./schema.ts";

/** Finds the definition a `$ref` names. Only schemas of built-in kinds have references. */
export type ResolveRef = (ref: string) => Schema | undefined;

/** What a dangling reference means: keep everything, check nothing. */
const nothing: Schema = { "x-kubernetes-preserve-unknown-fields": true };

/** Follows references. A reference to nothing describes a value of which nothing is known. */
export function dereference(schema: Schema, resolve: ResolveRef | undefined): Schema {
  let node = schema;
  while (node.$ref !== undefined) node = resolve?.(node.$ref) ?? nothing;
  return node;
}

/** Compiles a node once, when first needed: schemas may be recursive and large, and are used in part. */
export type CompileNode<F> = (schema: Schema) => F;

/** A compiler with memory: each schema node is made into an `F` at most once. */
export function compileOnce<F>(
  make: (schema: Schema, compile: CompileNode<F>) => F,
  resolve: ResolveRef | undefined,
): CompileNode<F> {
  const made = new Map<Schema, F>();
  const compile = (schema: Schema): F => {
    const node = dereference(schema, resolve);
    return getOrAdd(made, node, () => make(node, compile));
  };
  return compile;
}

/** The child of a node, compiled at its first use. */
export function lazily<F>(compile: CompileNode<F>, schema: Schema): () => F {
  let made: F | undefined;
  return () => {
    made ??= compile(schema);
    return made;
  };
}

/** One lazily compiled child per property. A map, because property names may be `__proto__`. */
export function lazyProperties<F>(compile: CompileNode<F>, schema: Schema): ReadonlyMap<string, () => F> {
  return new Map(Object.entries(schema.properties ?? {}).map(([name, child]) => [name, lazily(compile, child)]));
}
