import { jsonEquals, type JsonObject } from "#lib/base/index.ts";
import { isNotFound } from "#kernel/model/index.ts";
import { ClusterRole } from "../../kinds/rbac.ts";
import type { Subscription } from "../../store/store.ts";
import { changeObject } from "../../verbs/change.ts";
import type { ApiContext } from "../../verbs/context.ts";
import { KeyQueue } from "../../gc/key-queue.ts";
import { keyFor } from "../../verbs/storage-view.ts";
import { aggregatedRules, isAggregated } from "./aggregation.ts";

const collection = { group: ClusterRole.group, resource: ClusterRole.plural };

/** Maintains the rules of aggregated ClusterRoles. Chains (view, edit, admin) settle step by step. */
export class RoleAggregator {
  readonly #context: ApiContext;
  readonly #queue: KeyQueue;
  readonly #subscription: Subscription;

  constructor(context: ApiContext) {
    this.#context = context;
    this.#queue = new KeyQueue({ work: (name) => this.#aggregate(name), clock: context.clock, log: context.log });
    this.#subscription = context.store.subscribe(collection, context.store.revision, () => this.#look());
    this.#look();
  }

  get idle(): boolean {
    return this.#queue.idle;
  }

  close(): Promise<void> {
    this.#subscription.close();
    return this.#queue.close();
  }

  /** Cheap: the queue holds each name once, and unchanged rules are not written. */
  #look(): void {
    for (const role of this.#roles()) {
      const { name } = role.key;
      if (isAggregated(role.object())) this.#queue.add(name);
    }
  }

  #roles() {
    return this.#context.store.page(collection, {}).entries;
  }

  /** Writes only different rules, so that chains of roles settle. */
  async #aggregate(name: string): Promise<void> {
    const resource = this.#context.registry().find(ClusterRole.group, ClusterRole.version, ClusterRole.plural);
    const entry = resource && this.#context.store.get(keyFor(resource, "", name));
    if (resource === undefined || entry === undefined || !isAggregated(entry.object())) return;
    const roles = this.#roles().map((role) => role.object());
    const rules = aggregatedRules(entry.object(), roles);
    if (jsonEquals(entry.object()["rules"] ?? [], rules)) return;
    const compute = (old: JsonObject) => ({ object: { ...old, rules }, warnings: [] });
    try {
      await changeObject(this.#context, {
        resource,
        namespace: "",
        name,
        endpoint: "main",
        request: {},
        replaces: false,
        compute,
      });
    } catch (thrown) {
      // Deleted meanwhile.
      if (!isNotFound(thrown)) throw thrown;
    }
  }
}
