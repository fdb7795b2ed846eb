import { deepFreeze, isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import {
  apiVersionOf,
  collectionPath,
  type KubeObject,
  type ObjectList,
  type ResourceType,
  type Status,
  type Stored,
} from "#kernel/model/index.ts";
import { ApiChannel } from "./api-channel.ts";
import type {
  ApiClient,
  ArtifactOptions,
  DeleteOptions,
  ListOptions,
  LogOptions,
  Patch,
  Ref,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "./api-client.ts";
import type { HttpClientConfig } from "./client-config.ts";
import { isKubeObject, typed } from "./decode.ts";
import { Discovery } from "./discovery.ts";
import type { Method } from "./http-transport.ts";
import { readAllPages } from "./list-pages.ts";
import { isStatus } from "./refused-answer.ts";
import { listQuery, logQuery, objectPath, watchQuery, withQuery, writeQuery, refTo } from "./request-path.ts";
import { linesOf, readWatchLine } from "./watch-lines.ts";

/** An ApiClient of any Kubernetes API, over HTTP. */
export const createHttpClient = (config: HttpClientConfig): ApiClient => new HttpClient(config);

type Signalled = { readonly signal?: AbortSignal };

class HttpClient implements ApiClient {
  readonly #channel: ApiChannel;
  readonly #discovery: Discovery;

  constructor(config: HttpClientConfig) {
    const channel = new ApiChannel(config);
    this.#channel = channel;
    this.#discovery = new Discovery((path, accept) => channel.json({ method: "GET", path, accept }));
  }

  async get<T extends KubeObject = KubeObject>(ref: Ref, options: Signalled = {}): Promise<Stored<T>> {
    return this.#object<T>(await this.#channel.json({ method: "GET", path: objectPath(ref), ...signalOf(options) }));
  }

  async list<T extends KubeObject = KubeObject>(
    type: ResourceType,
    options: ListOptions = {},
  ): Promise<ObjectList<Stored<T>>> {
    if (options.limit !== undefined || options.continue !== undefined) return this.#page(type, options);
    return readAllPages(({ isFirst, ...page }) => {
      // A token carries its revision; servers refuse both together.
      const { resourceVersion: _a, resourceVersionMatch: _b, ...rest } = options;
      return this.#page<T>(type, { ...(isFirst ? options : rest), ...page });
    });
  }

  async *watch<T extends KubeObject = KubeObject>(
    type: ResourceType,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>> {
    const { signal } = options;
    if (signal.aborted) return;
    try {
      const path = withQuery(collectionPath(type, options.namespace), watchQuery(options));
      const stream = await this.#channel.stream({ method: "GET", path, signal });
      for await (const line of linesOf(stream, this.#channel.fail)) {
        if (signal.aborted) return;
        yield deepFreeze(readWatchLine<T>(line, this.#channel.fail));
      }
    } catch (thrown) {
      // An abort is not a failure.
      if (!signal.aborted) throw thrown;
    }
  }

  create<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#write("POST", collectionPath(type, object.metadata.namespace), object, options);
  }

  update<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#write("PUT", objectPath(refTo(type, object)), object, options);
  }

  updateStatus<T extends KubeObject>(type: ResourceType, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#write("PUT", objectPath(refTo(type, object), "status"), object, options);
  }

  async patch<T extends KubeObject = KubeObject>(
    ref: Ref,
    patch: Patch,
    options: WriteOptions & { readonly subresource?: string } = {},
  ): Promise<Stored<T>> {
    const force = patch.type === "apply" && patch.force === true ? true : undefined;
    const path = withQuery(objectPath(ref, options.subresource), { ...writeQuery(options), force });
    const body = {
      type: patchTypes[patch.type],
      text: JSON.stringify(patch.type === "json" ? patch.operations : patch.body),
    };
    return this.#object<T>(await this.#channel.json({ method: "PATCH", path, body, ...signalOf(options) }));
  }

  /** Servers answer with a Status, or with the object as it was. */
  async delete(ref: Ref, options: DeleteOptions = {}): Promise<KubeObject | Status> {
    const body = deleteBody(options);
    const answer = await this.#channel.json({ method: "DELETE", path: objectPath(ref), body, ...signalOf(options) });
    return isStatus(answer) ? answer : this.#object(answer);
  }

  async deleteCollection(type: ResourceType, options: ListOptions & DeleteOptions = {}): Promise<void> {
    const { labelSelector, fieldSelector } = listQuery(options);
    const path = withQuery(collectionPath(type, options.namespace), { labelSelector, fieldSelector });
    await this.#channel.json({ method: "DELETE", path, body: deleteBody(options), ...signalOf(options) });
  }

  async *logs(ref: Ref, options: LogOptions = {}): AsyncGenerator<Uint8Array> {
    const path = withQuery(objectPath(ref, "log"), logQuery(options));
    yield* await this.#channel.stream({ method: "GET", path, accept: "*/*", ...signalOf(options) });
  }

  /** A broken connection rejects: a part never looks complete. */
  async *artifact(ref: Ref, digest: string, options: ArtifactOptions = {}): AsyncGenerator<Uint8Array> {
    const path = withQuery(objectPath(ref, "artifacts"), { digest });
    yield* await this.#channel.stream({ method: "GET", path, accept: "*/*", ...signalOf(options) });
  }

  resourceType(apiVersion: string, kind: string): Promise<ResourceType | undefined> {
    return this.#discovery.find(apiVersion, kind);
  }

  resourceTypes(): Promise<readonly ResourceType[]> {
    return this.#discovery.read();
  }

  raw(path: string, options: Signalled & { readonly accept?: string } = {}): Promise<string> {
    return this.#channel.text({ method: "GET", path, accept: options.accept ?? "*/*", ...signalOf(options) });
  }

  async close(): Promise<void> {
    this.#channel.close();
  }

  /** Not repeated after a broken connection: it may have been done. */
  async #write<T extends KubeObject>(
    method: Method,
    path: string,
    object: T,
    options: WriteOptions,
  ): Promise<Stored<T>> {
    const body = { type: json, text: JSON.stringify(object) };
    const request = { method, path: withQuery(path, writeQuery(options)), body, ...signalOf(options) };
    return this.#object<T>(await this.#channel.json(request));
  }

  async #page<T extends KubeObject>(type: ResourceType, options: ListOptions): Promise<ObjectList<Stored<T>>> {
    const path = withQuery(collectionPath(type, options.namespace), listQuery(options));
    const answer = await this.#channel.json({ method: "GET", path, ...signalOf(options) });
    const { metadata, items } = answer;
    if (!isJsonObject(metadata)) throw this.#channel.fail("a list without metadata");
    // Servers written in Go send null for an empty list.
    const objects: readonly JsonValue[] = Array.isArray(items) ? items : [];
    return Object.freeze({
      apiVersion: apiVersionOf(type),
      kind: `${type.kind}List`,
      metadata: listMetadata(metadata),
      items: Object.freeze(objects.map((item) => this.#object<T>(named(type, item)))),
    });
  }

  #object<T extends KubeObject>(value: unknown): Stored<T> {
    if (!isKubeObject(value)) throw this.#channel.fail("a body that is no Kubernetes object");
    return typed<T>(value);
  }
}

const json = "application/json";
const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

const signalOf = ({ signal }: Signalled): Signalled => (signal === undefined ? {} : { signal });

/** Items of built-in lists lack apiVersion and kind. */
function named(type: ResourceType, item: JsonValue): JsonValue {
  if (!isJsonObject(item) || (item["apiVersion"] !== undefined && item["kind"] !== undefined)) return item;
  return Object.freeze({ apiVersion: apiVersionOf(type), kind: type.kind, ...item });
}

/** Servers send an empty `continue` on the last page. */
function listMetadata(metadata: JsonObject): ObjectList["metadata"] {
  const { resourceVersion, continue: token, remainingItemCount } = metadata;
  return Object.freeze({
    resourceVersion: typeof resourceVersion === "string" ? resourceVersion : "",
    ...(typeof token === "string" && token !== "" ? { continue: token } : {}),
    ...(typeof remainingItemCount === "number" ? { remainingItemCount } : {}),
  });
}

function deleteBody(options: DeleteOptions): { readonly type: string; readonly text: string } {
  const { propagationPolicy, gracePeriodSeconds, preconditions, dryRun } = options;
  const body = {
    apiVersion: "v1",
    kind: "DeleteOptions",
    propagationPolicy,
    gracePeriodSeconds,
    preconditions,
    ...(dryRun ? { dryRun: ["All"] } : {}),
  };
  return { type: json, text: JSON.stringify(body) };
}
