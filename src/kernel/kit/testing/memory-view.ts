import { isJsonObject, type Result } from "#lib/base/index.ts";
import { badRequest, type KubeObject, type ResourceType, type Stored } from "#kernel/model/index.ts";
import type { WatchEvent } from "../client/api-client.ts";
import { type FieldSelector, matchesFields, parseFieldSelector } from "../client/field-selector.ts";
import { type LabelSelector, matchesLabels, parseLabelSelector } from "../client/label-selector.ts";
import type { Change } from "./memory-store.ts";

/** What a list or a watch asked to see. */
export interface View {
  matches(object: KubeObject): boolean;
  /** How a change looks through the view: an object that enters it is ADDED, one that leaves it is DELETED. */
  eventOf(change: Change): WatchEvent | undefined;
}

interface Scope {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export function viewOf(type: ResourceType, scope: Scope): View {
  const labels: LabelSelector = unwrap("labelSelector", parseLabelSelector(scope.labelSelector ?? ""));
  const fields: FieldSelector = unwrap("fieldSelector", parseFieldSelector(scope.fieldSelector ?? ""));
  const { namespace = "" } = scope;
  const matches = (object: KubeObject): boolean =>
    (namespace === "" || !type.namespaced || object.metadata.namespace === namespace) &&
    matchesLabels(labels, object.metadata.labels) &&
    matchesFields(fields, (path) => textAt(object, path));
  return { matches, eventOf: (change) => transition(change, matches) };
}

function transition(change: Change, matches: (object: KubeObject) => boolean): WatchEvent | undefined {
  const { type, object, previous } = change;
  const before = previous !== undefined && matches(previous);
  if (type === "DELETED") return before ? { type, object } : undefined;
  if (matches(object)) return { type: before ? "MODIFIED" : "ADDED", object };
  if (!before) return undefined;
  const { resourceVersion } = object.metadata;
  const left: Stored = { ...previous, metadata: { ...previous.metadata, resourceVersion } };
  return { type: "DELETED", object: left };
}

/** Scalars by dotted path. Unlike a real server this one supports every field. */
function textAt(object: KubeObject, path: string): string | undefined {
  let value: unknown = object;
  for (const key of path.split(".")) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}

function unwrap<T>(parameter: string, result: Result<T, string>): T {
  if (!result.ok) throw badRequest(`${parameter}: ${result.error}`);
  return result.value;
}
