import type { ApiContext } from "../verbs/context.ts";
import { DefinitionCleaner } from "./definitions.ts";
import { EventTtl } from "./event-ttl.ts";
import { NamespaceKeeper } from "./namespaces.ts";
import { OwnerCollector } from "./owners.ts";
import { jsonEquals, type JsonObject, objectAt } from "#lib/base/index.ts";
import { withMembers } from "#kernel/specs/index.ts";
import { measureOf } from "../kinds/quota-measures.ts";
import type { StoreEvent } from "../store/store.ts";
import { quotas, usedOf } from "../verbs/quota.ts";
import { KeyQueue } from "./key-queue.ts";

// Background work, like kube-controller-manager's, driven by the store's events after one look at everything.

export interface Collectors {
  /** No work is left now; Events that are not old yet do not count. */
  readonly idle: boolean;
  /** Call when the root certificate has changed. */
  refresh(): void;
  /** Resolves when running work has ended; needs the store until then. */
  close(): Promise<void>;
}

/** Starts all collectors; resolves when the first namespaces exist with their content. No event is missed. */
export async function startCollectors(
  context: ApiContext,
  rootCertificate: () => string | undefined,
): Promise<Collectors> {
  const owners = new OwnerCollector(context);
  const namespaces = new NamespaceKeeper(context, rootCertificate);
  const definitions = new DefinitionCleaner(context);
  const ttl = new EventTtl(context);
  const quotas = new QuotaKeeper(context);
  const subscription = context.store.subscribeAll((events) => {
    owners.observe(events);
    namespaces.observe(events);
    definitions.observe(events);
    ttl.observe(events);
    quotas.observe(events);
  });
  definitions.start();
  ttl.start();
  quotas.start();
  await namespaces.start();
  const scan = owners.scan().catch((error: unknown) => context.log.error("scan for owners failed", { error }));
  return {
    get idle() {
      return owners.idle && namespaces.idle && definitions.idle && quotas.idle;
    },
    refresh: () => namespaces.refresh(),
    async close() {
      subscription.close();
      await Promise.all([owners.close(), namespaces.close(), definitions.close(), ttl.close(), quotas.close(), scan]);
    },
  };
}

/** Writes usage for people only: creations are counted separately. One count at a time per namespace. */
class QuotaKeeper {
  readonly #context: ApiContext;
  readonly #queue: KeyQueue;

  constructor(context: ApiContext) {
    this.#context = context;
    const { clock, log } = context;
    this.#queue = new KeyQueue({ work: (namespace) => this.#count(namespace), clock, log });
  }

  get idle(): boolean {
    return this.#queue.idle;
  }

  start(): void {
    for (const { key } of this.#context.store.page(quotas, {}).entries) this.#queue.add(key.namespace);
  }

  observe(batch: readonly StoreEvent[]): void {
    const { store } = this.#context;
    if (store.count(quotas) === 0) return;
    const namespaces = new Set(batch.filter(mayMatter).map(({ entry }) => entry.key.namespace));
    for (const namespace of namespaces) if (store.count(quotas, namespace) > 0) this.#queue.add(namespace);
  }

  close(): Promise<void> {
    return this.#queue.close();
  }

  async #count(namespace: string): Promise<void> {
    await this.#context.store.write((transaction) => {
      for (const entry of transaction.heads(quotas, namespace)) {
        const quota = entry.object();
        const hard = objectAt(quota, "spec", "hard") ?? {};
        const status = { hard, used: usedNow(hard, (name) => usedOf(transaction, name, namespace)) };
        if (!jsonEquals(quota["status"], status)) transaction.put(entry.key, withMembers(quota, { status }));
      }
    });
  }
}

/** Events and Leases change often and are rarely counted; the next other change includes them. */
const mayMatter = ({ type, entry }: StoreEvent): boolean =>
  entry.key.namespace !== "" &&
  (type !== "modify" || (entry.key.resource !== "events" && entry.key.resource !== "leases"));

/** CPU, memory and the like are not counted. */
const usedNow = (hard: JsonObject, used: (name: string) => number): JsonObject =>
  Object.fromEntries(
    Object.keys(hard)
      .filter((name) => measureOf(name) !== undefined)
      .map((name) => [name, String(used(name))]),
  );
