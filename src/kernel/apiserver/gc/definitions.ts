import { isJsonObject, type JsonObject, recover } from "#lib/base/index.ts";
import { isNotFound } from "#kernel/model/index.ts";
import { withCrdStatus } from "../crds/conditions.ts";
import { conditionStatus } from "../crds/definition.ts";
import type { Collection, StoreEvent } from "../store/store.ts";
import { changeObject, type Endpoint } from "../verbs/change.ts";
import type { ApiContext } from "../verbs/context.ts";
import { crdCleanupFinalizer, definitionKey, definitions } from "../verbs/definition-rules.ts";
import { finalizersOf, withMetadata } from "../verbs/metadata.ts";
import { servedFor } from "../verbs/storage-view.ts";
import { deleteContent } from "./content.ts";
import { KeyQueue } from "./key-queue.ts";

/**
 * Empties deleted CustomResourceDefinitions, and re-checks names that had to wait for another definition.
 *
 *   DELETE of a definition      its finalizer keeps it; it is Terminating, and nothing of its kind can be created
 *   all its objects deleted     some at once, some when their own finalizers are gone; each removal triggers another pass
 *   none left                   the finalizer is removed, and with it the definition; watches of the kind end
 *   a definition goes or        definitions whose names were not accepted are checked again
 *   changes its names
 */
export class DefinitionCleaner {
  readonly #context: ApiContext;
  readonly #queue: KeyQueue;

  constructor(context: ApiContext) {
    this.#context = context;
    this.#queue = new KeyQueue({ work: (name) => this.#clean(name), clock: context.clock, log: context.log });
  }

  /** Resumes interrupted deletions and re-checks names. */
  start(): void {
    for (const entry of this.#context.store.page(definitions, {}).entries) {
      if (entry.terminating || !areNamesAccepted(entry.object())) this.#queue.add(entry.key.name);
    }
  }

  observe(events: readonly StoreEvent[]): void {
    for (const { type, entry } of events) {
      const { group, resource, name } = entry.key;
      if (group === definitions.group && resource === definitions.resource) {
        if (type === "modify" && entry.terminating) this.#queue.add(name);
        if (type !== "add") this.#addRefused();
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

  #addRefused(): void {
    for (const entry of this.#context.store.page(definitions, {}).entries) {
      if (!entry.terminating && !areNamesAccepted(entry.object())) this.#queue.add(entry.key.name);
    }
  }

  /** The definition's name is `<plural>.<group>`. */
  #isCleaned(name: string): boolean {
    const entry = this.#context.store.get(definitionKey(name));
    return entry?.terminating === true;
  }

  async #clean(name: string): Promise<void> {
    const { store, registry } = this.#context;
    const entry = store.get(definitionKey(name));
    if (entry === undefined) return;
    if (!entry.terminating) return this.#judgeNames(name);
    if (!finalizersOf(entry.object()).includes(crdCleanupFinalizer)) return;
    const collection = collectionNamed(entry.object());
    const resource = servedFor(registry(), collection);
    // A definition that was never served has no objects.
    if (resource?.custom === true) {
      const { objects } = await deleteContent(this.#context, resource);
      if (objects > 0) return;
    }
    await this.#release(name);
  }

  /** Removes the finalizer, and with it the definition. */
  #release(name: string): Promise<void> {
    return this.#change(name, "main", (old) =>
      withMetadata(old, { finalizers: finalizersOf(old).filter((finalizer) => finalizer !== crdCleanupFinalizer) }),
    );
  }

  /** Writes nothing while the names are still taken. */
  #judgeNames(name: string): Promise<void> {
    const { registry, clock } = this.#context;
    return this.#change(name, "status", (old) =>
      areNamesAccepted(old) ? old : withCrdStatus(old, registry(), clock.now()),
    );
  }

  async #change(name: string, endpoint: Endpoint, edit: (old: JsonObject) => JsonObject): Promise<void> {
    const { group, resource: plural } = definitions;
    const resource = this.#context.registry().find(group, "v1", plural);
    if (resource === undefined) throw new Error("the kind CustomResourceDefinition is not served");
    const compute = (old: JsonObject) => ({ object: edit(old), warnings: [] });
    const change = { resource, namespace: "", name, endpoint, request: {}, replaces: false, compute };
    await changeObject(this.#context, change).catch(recover(isNotFound, undefined));
  }
}

const areNamesAccepted = (definition: JsonObject): boolean => conditionStatus(definition, "NamesAccepted") === "True";

/** All versions share one collection. */
function collectionNamed({ spec }: JsonObject): Collection {
  const group = isJsonObject(spec) ? spec["group"] : undefined;
  const names = isJsonObject(spec) ? spec["names"] : undefined;
  const plural = isJsonObject(names) ? names["plural"] : undefined;
  return { group: typeof group === "string" ? group : "", resource: typeof plural === "string" ? plural : "" };
}
