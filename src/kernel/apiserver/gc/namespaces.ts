import { formatTime, isJsonObject, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { isAlreadyExists, isForbidden, isNotFound } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { StoreEvent } from "../store/store.ts";
import { changeObject, type Endpoint } from "../verbs/change.ts";
import type { ApiContext } from "../verbs/context.ts";
import { createObject } from "../verbs/create.ts";
import { isTerminating } from "../verbs/metadata.ts";
import { initialNamespaces } from "../verbs/namespace-rules.ts";
import { collectionOf, namespaceKey } from "../verbs/storage-view.ts";
import { deleteContent } from "./content.ts";
import { KeyQueue } from "./key-queue.ts";

/**
 * Keeps namespaces: the first ones exist, each has its default ServiceAccount and the server's root certificate, and a deleted
 * one goes when everything in it is gone.
 */
export class NamespaceKeeper {
  readonly #context: ApiContext;
  readonly #rootCertificate: () => string | undefined;
  readonly #queue: KeyQueue;

  constructor(context: ApiContext, rootCertificate: () => string | undefined) {
    this.#context = context;
    this.#rootCertificate = rootCertificate;
    const { clock } = context;
    this.#queue = new KeyQueue({ work: (name) => this.#keep(name), clock, log: context.log });
  }

  /** Resolves when the first namespaces exist and have their content. */
  async start(): Promise<void> {
    const { store } = this.#context;
    for (const name of initialNamespaces) {
      if (store.get(namespaceKey(name)) === undefined)
        await this.#create("namespaces", "", { kind: "Namespace", metadata: { name } });
    }
    for (const { key } of store.page({ group: "", resource: "namespaces" }, {}).entries) {
      if (initialNamespaces.some((name) => name === key.name)) await this.#keep(key.name);
      else this.#queue.add(key.name);
    }
  }

  /** Looks at every namespace again, because the root certificate has changed. */
  refresh(): void {
    for (const { key } of this.#context.store.page({ group: "", resource: "namespaces" }, {}).entries)
      this.#queue.add(key.name);
  }

  observe(events: readonly StoreEvent[]): void {
    for (const { type, entry } of events) {
      const { group, resource, namespace, name } = entry.key;
      if (group === "" && resource === "namespaces") {
        if (type !== "delete") this.#queue.add(name);
      } else if (namespace !== "" && type === "delete" && this.#concerns(namespace, resource, name)) {
        this.#queue.add(namespace);
      }
    }
  }

  get idle(): boolean {
    return this.#queue.idle;
  }

  close(): Promise<void> {
    return this.#queue.close();
  }

  #concerns(namespace: string, resource: string, name: string): boolean {
    const entry = this.#context.store.get(namespaceKey(namespace));
    if (entry === undefined) return false;
    const kept =
      (resource === "serviceaccounts" && name === "default") || (resource === "configmaps" && name === rootCaName);
    return kept || isTerminating(entry.object());
  }

  async #keep(name: string): Promise<void> {
    const entry = this.#context.store.get(namespaceKey(name));
    if (entry === undefined) return;
    if (isTerminating(entry.object())) await this.#empty(name);
    else await this.#furnish(name);
  }

  async #furnish(namespace: string): Promise<void> {
    const { store } = this.#context;
    const account = { group: "", resource: "serviceaccounts", namespace, name: "default" };
    if (store.get(account) === undefined) {
      await this.#create("serviceaccounts", namespace, { kind: "ServiceAccount", metadata: { name: "default" } });
    }
    const ca = this.#rootCertificate();
    if (ca === undefined) return;
    const config = store.get({ group: "", resource: "configmaps", namespace, name: rootCaName });
    const data = { "ca.crt": ca };
    if (config === undefined) {
      await this.#create("configmaps", namespace, { kind: "ConfigMap", metadata: { name: rootCaName }, data });
    } else if (!jsonEquals(config.object()["data"], data)) {
      await this.#change("configmaps", namespace, rootCaName, "main", (old) => ({ ...old, data }));
    }
  }

  /** One pass over a terminating namespace. Deletions that take time end in events, which bring it back here. */
  async #empty(name: string): Promise<void> {
    const { store } = this.#context;
    const left: string[] = [];
    const finalizers = new Set<string>();
    for (const resource of this.#namespacedKinds()) {
      if (store.count(collectionOf(resource), name) === 0) continue;
      const remaining = await deleteContent(this.#context, resource, name);
      if (remaining.objects > 0) left.push(`${resource.type.plural} has ${remaining.objects} resource instances`);
      for (const finalizer of remaining.finalizers) finalizers.add(finalizer);
    }
    if (left.length === 0) {
      await this.#change("namespaces", "", name, "finalize", (old) => ({ ...old, spec: { finalizers: [] } }));
    } else {
      const time = formatTime(this.#context.clock.now());
      await this.#change("namespaces", "", name, "status", (old) => withRemains(old, left, [...finalizers], time));
    }
  }

  /** Custom objects first, Events last: those who are told to go may still have something to say. */
  #namespacedKinds(): readonly ServedResource[] {
    const rank = ({ type, custom }: ServedResource) => {
      if (custom) return 0;
      if (type.group === "batch" || type.group === "apps") return 1;
      if (type.plural === "pods") return 2;
      return type.plural === "events" ? 4 : 3;
    };
    const kinds = this.#context
      .registry()
      .all()
      .filter(({ type, storage }) => type.namespaced && storage === undefined);
    return [...kinds].sort((a, b) => rank(a) - rank(b));
  }

  async #create(plural: string, namespace: string, object: JsonObject): Promise<void> {
    const resource = this.#core(plural);
    try {
      await createObject(this.#context, resource, namespace, { apiVersion: "v1", ...object }, {});
    } catch (thrown) {
      // Somebody was faster, or the namespace began to go away: both bring their own event.
      if (!isAlreadyExists(thrown) && !isForbidden(thrown) && !isNotFound(thrown)) throw thrown;
    }
  }

  async #change(
    plural: string,
    namespace: string,
    name: string,
    endpoint: Endpoint,
    edit: (old: JsonObject) => JsonObject,
  ): Promise<void> {
    const compute = (old: JsonObject) => ({ object: edit(old), warnings: [] });
    const change = { resource: this.#core(plural), namespace, name, endpoint, request: {}, replaces: false, compute };
    try {
      await changeObject(this.#context, change);
    } catch (thrown) {
      if (!isNotFound(thrown)) throw thrown;
    }
  }

  #core(plural: string): ServedResource {
    const resource = this.#context.registry().find("", "v1", plural);
    if (resource === undefined) throw new Error(`the built-in kind ${plural} is not served`);
    return resource;
  }
}

const rootCaName = "kube-root-ca.crt";

/** The namespace with conditions that tell what still keeps it. */
function withRemains(
  old: JsonObject,
  left: readonly string[],
  finalizers: readonly string[],
  time: string,
): JsonObject {
  const conditions: readonly JsonObject[] = [
    condition("NamespaceContentRemaining", "SomeResourcesRemain", `Some resources are remaining: ${left.join(", ")}`),
    ...(finalizers.length === 0
      ? []
      : [
          condition(
            "NamespaceFinalizersRemaining",
            "SomeFinalizersRemain",
            `Some content is held by finalizers: ${finalizers.join(", ")}`,
          ),
        ]),
  ];
  const status = isJsonObject(old["status"]) ? old["status"] : {};
  const before = status["conditions"];
  const known: readonly JsonValue[] = Array.isArray(before) ? before : [];
  const timed = conditions.map((now) => {
    const was = known.find((other) => isJsonObject(other) && other["type"] === now["type"]);
    return { ...now, lastTransitionTime: isJsonObject(was) ? (was["lastTransitionTime"] ?? time) : time };
  });
  return { ...old, status: { ...status, conditions: timed } };
}

const condition = (type: string, reason: string, message: string): JsonObject => ({
  type,
  status: "True",
  reason,
  message,
});
