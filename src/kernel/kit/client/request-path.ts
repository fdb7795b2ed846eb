import { collectionPath } from "#kernel/model/index.ts";
import type { ListOptions, LogOptions, Ref, WatchOptions, WriteOptions } from "./api-client.ts";

// Options as the paths and parameters of Kubernetes' REST API. What is undefined or empty is not sent, so servers use their defaults.

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** `path?a=1&b=2`, without what is undefined. */
export function withQuery(path: string, query: Query): string {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

/** The path of one object, or of one of its subresources. */
export function objectPath({ type, namespace, name }: Ref, subresource?: string): string {
  const base = `${collectionPath(type, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? base : `${base}/${subresource}`;
}

/** An empty selector selects everything and an empty token is none, so neither is sent. */
export const listQuery = (options: ListOptions): Query => ({
  labelSelector: nonEmpty(options.labelSelector),
  fieldSelector: nonEmpty(options.fieldSelector),
  resourceVersion: options.resourceVersion,
  resourceVersionMatch: options.resourceVersionMatch,
  limit: options.limit,
  continue: nonEmpty(options.continue),
});

/** A watch without a timeout lasts as long as the server likes, usually 30 to 60 minutes. */
export const watchQuery = (options: WatchOptions): Query => ({
  watch: 1,
  labelSelector: nonEmpty(options.labelSelector),
  fieldSelector: nonEmpty(options.fieldSelector),
  resourceVersion: options.resourceVersion,
  resourceVersionMatch: options.resourceVersionMatch,
  sendInitialEvents: options.sendInitialEvents,
  allowWatchBookmarks: options.allowBookmarks,
  // Zero would mean the server's own choice.
  timeoutSeconds: options.timeout === undefined ? undefined : Math.max(1, Math.ceil(options.timeout / 1000)),
});

/** `dryRun` has one value only. */
export const writeQuery = (options: WriteOptions): Query => ({
  dryRun: options.dryRun ? "All" : undefined,
  fieldManager: options.fieldManager,
  fieldValidation: options.fieldValidation,
});

/** 0 is a value: no lines, no bytes. */
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
