import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { isNotFound } from "#kernel/model/index.ts";
import type { Collection, StoreEvent } from "../store/store.ts";
import { changeObject } from "../verbs/change.ts";
import type { ApiContext } from "../verbs/context.ts";
import { crdCleanupFinalizer, definitionKey, definitions } from "../verbs/definition-rules.ts";
import { finalizersOf, isTerminating, withMetadata } from "../verbs/metadata.ts";
import { servedFor } from "../verbs/storage-view.ts";
import { deleteContent } from "./content.ts";
import { KeyQueue } from "./key-queue.ts";

/** Empties deleted CustomResourceDefinitions: first their objects go, then they. */
export class DefinitionCleaner {
  readonly #context: ApiContext;
  readonly #queue: KeyQueue;

  constructor(context: ApiContext) {
    this.#context = context;
    this.#queue = new KeyQueue({ work: (name) => this.#clean(name), clock: context.clock, log: context.log });
  }

  start(): void {
    for (const { key } of this.#context.store.page(definitions, {}).entries) this.#queue.add(key.name);
  }

  observe(events: readonly StoreEvent[]): void {
    for (const { type, entry } of events) {
      const { group, resource, name } = entry.key;
      if (group === definitions.group && resource === definitions.resource) {
        if (type === "modify" && isTerminating(entry.object())) this.#queue.add(name);
      } else if (type === "delete" && group !== "" && this.#isCleaned(`${resource}.${group}`)) {
        this.#queue.add(`${resource}.${group}`);
      }
    }
  }

  get idle(): boolean {
    return this.#queue.idle;
  }

  close(): Promise<void> {
    return this.#queue.close();
  }

  #isCleaned(name: string): boolean {
    const entry = this.#context.store.get(definitionKey(name));
    return entry !== undefined && isTerminating(entry.object());
  }

  async #clean(name: string): Promise<void> {
    const { store, registry } = this.#context;
    const entry = store.get(definitionKey(name));
    if (entry === undefined || !isTerminating(entry.object())) return;
    if (!finalizersOf(entry.object()).includes(crdCleanupFinalizer)) return;
    const collection = collectionNamed(entry.object());
    const resource = servedFor(registry(), collection);
    // A definition that was never served (its names clash) has no objects of its own.
    if (resource?.custom === true) {
      const { objects } = await deleteContent(this.#context, resource);
      if (objects > 0) return;
    }
    await this.#release(name);
  }

  async #release(name: string): Promise<void> {
    const { group, resource: plural } = definitions;
    const resource = this.#context.registry().find(group, "v1", plural);
    if (resource === undefined) throw new Error("the kind CustomResourceDefinition is not served");
    const compute = (old: JsonObject) => {
      const finalizers = finalizersOf(old).filter((finalizer) => finalizer !== crdCleanupFinalizer);
      return { object: withMetadata(old, { finalizers }), warnings: [] };
    };
    const change = { resource, namespace: "", name, endpoint: "main", request: {}, replaces: false, compute } as const;
    try {
      await changeObject(this.#context, change);
    } catch (thrown) {
      if (!isNotFound(thrown)) throw thrown;
    }
  }
}

/** Where the objects of a definition are stored. */
function collectionNamed({ spec }: JsonObject): Collection {
  const group = isJsonObject(spec) ? spec["group"] : undefined;
  const names = isJsonObject(spec) ? spec["names"] : undefined;
  const plural = isJsonObject(names) ? names["plural"] : undefined;
  return { group: typeof group === "string" ? group : "", resource: typeof plural === "string" ? plural : "" };
}
