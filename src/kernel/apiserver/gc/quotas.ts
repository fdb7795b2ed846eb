import { jsonEquals, type JsonObject, objectAt } from "#lib/base/index.ts";
import { withMembers } from "#kernel/specs/index.ts";
import { measureOf } from "../kinds/quota-measures.ts";
import type { StoreEvent } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { quotas, usedOf } from "../verbs/quota.ts";
import { KeyQueue } from "./key-queue.ts";

/** Writes usage for people only: creations are counted separately. One count at a time per namespace. */
export class QuotaKeeper {
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
