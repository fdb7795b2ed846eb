import { collectionPath, type KubeObject, type ResourceType } from "#kernel/model/index.ts";
import type { ListOptions, LogOptions, Ref, WatchOptions, WriteOptions } from "./api-client.ts";

// Kubernetes' REST paths and parameters. Undefined and empty options are not sent.

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** `path?a=1&b=2`, without undefined values. */
export function withQuery(path: string, query: Query): string {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

export function objectPath({ type, namespace, name }: Ref, subresource?: string): string {
  const base = `${collectionPath(type, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? base : `${base}/${subresource}`;
}

export const listQuery = (options: ListOptions): Query => ({
  labelSelector: nonEmpty(options.labelSelector),
  fieldSelector: nonEmpty(options.fieldSelector),
  resourceVersion: options.resourceVersion,
  resourceVersionMatch: options.resourceVersionMatch,
  limit: options.limit,
  continue: nonEmpty(options.continue),
});

export const watchQuery = (options: WatchOptions): Query => ({
  watch: 1,
  labelSelector: nonEmpty(options.labelSelector),
  fieldSelector: nonEmpty(options.fieldSelector),
  resourceVersion: options.resourceVersion,
  resourceVersionMatch: options.resourceVersionMatch,
  sendInitialEvents: options.sendInitialEvents,
  allowWatchBookmarks: options.allowBookmarks,
  // Zero would mean the server's default.
  timeoutSeconds: options.timeout === undefined ? undefined : Math.max(1, Math.ceil(options.timeout / 1000)),
});

export const writeQuery = (options: WriteOptions): Query => ({
  dryRun: options.dryRun ? "All" : undefined,
  fieldManager: options.fieldManager,
  fieldValidation: options.fieldValidation,
});

export const logQuery = (options: LogOptions): Query => ({
  container: options.container,
  follow: options.follow,
  previous: options.previous,
  timestamps: options.timestamps,
  tailLines: options.tailLines,
  sinceSeconds: options.sinceSeconds,
  sinceTime: options.sinceTime,
  limitBytes: options.limitBytes,
});

const nonEmpty = (text: string | undefined): string | undefined => (text === "" ? undefined : text);

export function refTo(type: ResourceType, { metadata }: KubeObject): Ref {
  const { namespace, name = "" } = metadata;
  return namespace === undefined || namespace === "" ? { type, name } : { type, namespace, name };
}
