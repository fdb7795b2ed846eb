import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";

// Objects and sets of fields as flat maps of paths: what the oracle computes with, so that it shares no idea with the server that it
// judges. Elements of a path are those of FieldsV1, joined by slashes: `f:spec/f:items/k:{"name":"a"}/f:value`.

/** Every value by its path; of objects and lists only that they are there. */
export type Flat = ReadonlyMap<string, string>;
/** Paths that a manager owns, by `manager operation subresource`. */
export type Owners = ReadonlyMap<string, ReadonlySet<string>>;

/** What objects and lists have for a value. */
export const container = "";

const keyOf = (item: JsonValue): string =>
  isJsonObject(item) ? `k:${JSON.stringify({ name: item["name"] })}` : `v:${JSON.stringify(item)}`;

function spread(value: JsonValue, path: string, into: Map<string, string>): void {
  if (Array.isArray(value)) {
    into.set(path, container);
    for (const item of value as readonly JsonValue[]) spread(item, `${path}/${keyOf(item)}`, into);
  } else if (isJsonObject(value)) {
    into.set(path, container);
    for (const [name, member] of Object.entries(value))
      if (member !== undefined) spread(member, `${path}/f:${name}`, into);
  } else into.set(path, JSON.stringify(value));
}

/** What managers can own of an object: labels, finalizers, spec and status. */
export function flatten(object: JsonObject): Flat {
  const flat = new Map<string, string>();
  const { metadata, spec, status } = object;
  const { labels, finalizers } = isJsonObject(metadata) ? metadata : {};
  if (labels !== undefined) spread(labels, "f:metadata/f:labels", flat);
  if (finalizers !== undefined) spread(finalizers, "f:metadata/f:finalizers", flat);
  if (spec !== undefined) spread(spec, "f:spec", flat);
  if (status !== undefined) spread(status, "f:status", flat);
  return flat;
}

/** The order of all lists, which sets of fields do not know. */
export function orderOf(object: JsonObject): string {
  const { spec } = object;
  const { items = [], tags = [] } = isJsonObject(spec) ? spec : {};
  return JSON.stringify([(items as readonly JsonValue[]).map(keyOf), tags]);
}

function members(node: JsonObject, path: string, into: Set<string>): void {
  const entries = Object.entries(node);
  if (path !== "" && (entries.length === 0 || node["."] !== undefined)) into.add(path);
  for (const [name, child] of entries)
    if (isJsonObject(child) && name !== ".") members(child, path === "" ? name : `${path}/${name}`, into);
}

interface Entry {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly fieldsV1: JsonObject;
}

/** `metadata.managedFields` as sets of paths. */
export function ownersOf(object: KubeObject): Owners {
  const owners = new Map<string, ReadonlySet<string>>();
  const { managedFields = [] } = object.metadata as { readonly managedFields?: readonly Entry[] };
  for (const { manager, operation, subresource = "", fieldsV1 } of managedFields) {
    const paths = new Set<string>();
    members(fieldsV1, "", paths);
    owners.set(`${manager} ${operation} ${subresource}`, paths);
  }
  return owners;
}
