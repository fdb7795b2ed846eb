import { isJsonObject, type JsonObject, jsonEquals, objectAt } from "#lib/base/index.ts";
import { applyMergePatch } from "#lib/json/index.ts";
import type { ApiClient, Patch, Ref, WriteOptions } from "#kernel/kit/index.ts";
import { asJson, isNotFound, type KubeObject, type Stored } from "#kernel/model/index.ts";

/** A write, in the order of writes: `apply Deployment a/web`. */
export type Writes = readonly string[];

/**
 * A client that answers server-side apply by merging: lists are replaced, and fields that the manager no longer applies
 * are removed. Nothing conflicts. Everything else is the inner client's.
 */
export function applyingClient(inner: ApiClient): ApiClient & { readonly writes: string[] } {
  const writes: string[] = [];
  const appliedBy = new Map<string, JsonObject>();
  const note = (verb: string, kind: string, place: { namespace?: string; name?: string }) =>
    writes.push(`${verb} ${kind} ${place.namespace === undefined ? "" : `${place.namespace}/`}${place.name ?? ""}`);
  const patch = async (ref: Ref, change: Patch, options: WriteOptions & { subresource?: string } = {}) => {
    if (change.type !== "apply") return await inner.patch(ref, change, options);
    const body = change.body as unknown as KubeObject;
    const key = `${options.fieldManager} ${ref.type.kind} ${ref.namespace ?? ""}/${ref.name}`;
    const before = appliedBy.get(key) ?? {};
    appliedBy.set(key, asJson(body));
    const live = await inner.get(ref).catch((thrown: unknown) => {
      if (isNotFound(thrown)) return undefined;
      throw thrown;
    });
    if (live === undefined) {
      note("apply", ref.type.kind, ref);
      return await inner.create(ref.type, body);
    }
    const merged = applyMergePatch(asJson(live), withRemoved(before, asJson(body)));
    if (jsonEquals(merged, live)) return live;
    note("apply", ref.type.kind, ref);
    return await inner.update(ref.type, merged as unknown as Stored);
  };
  return new Proxy(inner, {
    get(target, name) {
      if (name === "writes") return writes;
      if (name === "patch") return patch;
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const call = value.bind(target) as (...args: readonly unknown[]) => unknown;
      if (name === "create" || name === "update")
        return (type: Ref["type"], object: KubeObject, ...rest: readonly unknown[]) => {
          note(name, type.kind, object.metadata);
          return call(type, object, ...rest);
        };
      if (name === "updateStatus")
        return (type: Ref["type"], object: KubeObject, ...rest: readonly unknown[]) => {
          note("status of", type.kind, object.metadata);
          return call(type, object, ...rest);
        };
      if (name === "delete")
        return (ref: Ref, ...rest: readonly unknown[]) => {
          note("delete", ref.type.kind, ref);
          return call(ref, ...rest);
        };
      return call;
    },
  }) as ApiClient & { readonly writes: string[] };
}

/** The new body, with null for members of the old one that are not in it. */
function withRemoved(before: JsonObject, after: JsonObject): JsonObject {
  const removed = Object.keys(before).flatMap((name) => (after[name] === undefined ? [[name, null] as const] : []));
  const kept = Object.entries(after).map(([name, value]) => {
    const old = objectAt(before, name);
    return [name, old !== undefined && isJsonObject(value) ? withRemoved(old, value) : (value ?? null)] as const;
  });
  return Object.fromEntries([...removed, ...kept]);
}
