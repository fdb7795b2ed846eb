import {
  formatTime,
  isJsonObject,
  jsonEquals,
  type JsonObject,
  type JsonValue,
  messageOf,
  recover,
} from "#lib/base/index.ts";
import { isAlreadyExists, isForbidden, isNotFound } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { StoreEvent } from "../store/store.ts";
import { changeObject, type Endpoint } from "../verbs/change.ts";
import type { ApiContext } from "../verbs/context.ts";
import { createObject } from "../verbs/create.ts";
import { isTerminating } from "../verbs/metadata.ts";
import { initialNamespaces, specFinalizers } from "../verbs/namespace-rules.ts";
import { collectionOf, namespaceKey, servedFor } from "../verbs/storage-view.ts";
import { deleteContent } from "./content.ts";
import { KeyQueue } from "./key-queue.ts";

/**
 * Keeps namespaces.
 *
 *   Active        has its default ServiceAccount and root certificate, which are restored when deleted
 *   Terminating   the finalizer `kubernetes` keeps it and creation in it is 403; its content is deleted kind by kind,
 *                 conditions report what is left, and every removal triggers another pass
 *   empty         the finalizer is removed through `/finalize`, and the namespace unless others hold it
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

  /** The root certificate has changed. */
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

  /** Passes of one namespace never overlap. */
  async #keep(name: string): Promise<void> {
    const entry = this.#context.store.get(namespaceKey(name));
    if (entry === undefined) return;
    if (isTerminating(entry.object())) await this.#empty(name);
    else await this.#furnish(name);
  }

  /** Idempotent. The certificate follows the account a moment later, as in Kubernetes. */
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

  /** One pass. Deletions that take time cause events, which start another one. Kinds are read anew each time. */
  async #empty(name: string): Promise<void> {
    const { store, clock } = this.#context;
    const objects = new Map<string, number>();
    const finalizers = new Map<string, number>();
    const failures: unknown[] = [];
    for (const resource of this.#namespacedKinds()) {
      if (store.count(collectionOf(resource), name) === 0) continue;
      try {
        const remaining = await deleteContent(this.#context, resource, name);
        const { plural, group } = resource.type;
        if (remaining.objects > 0) objects.set(`${plural}.${group}`, remaining.objects);
        for (const [finalizer, count] of remaining.finalizers)
          finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + count);
      } catch (thrown) {
        // Continue with the other kinds; then the pass has failed.
        failures.push(thrown);
      }
    }
    const isEmpty = objects.size === 0 && failures.length === 0;
    // The conditions tell other finalizers' owners that it is their turn.
    const held = specFinalizers(store.get(namespaceKey(name))?.object() ?? {}).some((one) => one !== ownFinalizer);
    if (!isEmpty || held) {
      const found = { objects, finalizers, failures: failures.map(messageOf) };
      const time = formatTime(clock.now());
      await this.#change("namespaces", "", name, "status", (old) => withConditions(old, found, time));
    }
    if (failures.length > 0) throw failures[0];
    if (isEmpty) await this.#change("namespaces", "", name, "finalize", withoutOwnFinalizer);
  }

  /** One kind per collection: custom objects first, Events last, which deletions may still create. */
  #namespacedKinds(): readonly ServedResource[] {
    const rank = ({ type, custom }: ServedResource) => {
      if (custom) return 0;
      if (type.group === "batch" || type.group === "apps") return 1;
      if (type.plural === "pods") return 2;
      return type.plural === "events" ? 4 : 3;
    };
    const registry = this.#context.registry();
    const kinds = registry
      .all()
      .filter(({ type }) => type.namespaced)
      .flatMap((served) => servedFor(registry, collectionOf(served)) ?? []);
    return [...new Set(kinds)].sort((a, b) => rank(a) - rank(b));
  }

  /** Like a client, with defaults and rules. */
  async #create(plural: string, namespace: string, object: JsonObject): Promise<void> {
    const resource = this.#core(plural);
    try {
      await createObject(this.#context, resource, namespace, { apiVersion: "v1", ...object }, {});
    } catch (thrown) {
      // Exists already, or the namespace is terminating; both cause events.
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
    await changeObject(this.#context, change).catch(recover(isNotFound, undefined));
  }

  #core(plural: string): ServedResource {
    const resource = this.#context.registry().find("", "v1", plural);
    if (resource === undefined) throw new Error(`the built-in kind ${plural} is not served`);
    return resource;
  }
}

const ownFinalizer = "kubernetes";
const withoutOwnFinalizer = (namespace: JsonObject): JsonObject => ({
  ...namespace,
  spec: { finalizers: specFinalizers(namespace).filter((name) => name !== ownFinalizer) },
});

/** Kubernetes' name, for in-cluster clients. */
const rootCaName = "kube-root-ca.crt";

interface Findings {
  /** Objects left, by `<plural>.<group>`. */
  readonly objects: ReadonlyMap<string, number>;
  /** Waiting objects by finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Errors by kind. */
  readonly failures: readonly string[];
}

interface Verdict {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/** Kubernetes' conditions, in which True means trouble. An unchanged state keeps its times and is not written. */
function withConditions(namespace: JsonObject, found: Findings, time: string): JsonObject {
  const status = isJsonObject(namespace["status"]) ? namespace["status"] : {};
  const before: readonly JsonValue[] = Array.isArray(status["conditions"]) ? status["conditions"] : [];
  const known = before.filter(isJsonObject);
  const verdicts = verdictsOf(found);
  const others = known.filter(({ type }) => verdicts.every((verdict) => verdict.type !== type));
  const conditions = verdicts.map((verdict) => {
    const old = known.find(({ type }) => type === verdict.type);
    const since = old?.["status"] === verdict.status ? old["lastTransitionTime"] : undefined;
    return { ...verdict, lastTransitionTime: since ?? time };
  });
  return { ...namespace, status: { ...status, conditions: [...conditions, ...others] } };
}

function verdictsOf({ objects, finalizers, failures }: Findings): readonly Verdict[] {
  const good = (type: string, reason: string, message: string): Verdict => ({ type, status: "False", reason, message });
  const bad = (type: string, reason: string, message: string): Verdict => ({ type, status: "True", reason, message });
  const counted = (counts: ReadonlyMap<string, number>, verb: string) =>
    [...counts].map(([name, count]) => `${name} ${verb} ${count} resource instances`).sort();
  return [
    // The kinds are always known here.
    good("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    good(
      "NamespaceDeletionGroupVersionParsingFailure",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ),
    failures.length === 0
      ? good(
          "NamespaceDeletionContentFailure",
          "ContentDeleted",
          "All content successfully deleted, may be waiting on finalization",
        )
      : bad(
          "NamespaceDeletionContentFailure",
          "ContentDeletionFailed",
          `Failed to delete all resource types, ${failures.length} remaining: ${failures.join(", ")}`,
        ),
    objects.size === 0
      ? good("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed")
      : bad(
          "NamespaceContentRemaining",
          "SomeResourcesRemain",
          `Some resources are remaining: ${counted(objects, "has").join(", ")}`,
        ),
    finalizers.size === 0
      ? good("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished")
      : bad(
          "NamespaceFinalizersRemaining",
          "SomeFinalizersRemain",
          `Some content in the namespace has finalizers remaining: ${counted(finalizers, "in").join(", ")}`,
        ),
  ];
}
