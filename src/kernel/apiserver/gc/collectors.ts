import type { ApiContext } from "../verbs/context.ts";
import { DefinitionCleaner } from "./definitions.ts";
import { EventTtl } from "./event-ttl.ts";
import { NamespaceKeeper } from "./namespaces.ts";
import { OwnerCollector } from "./owners.ts";
import { QuotaKeeper } from "./quotas.ts";

// Background work of the API server itself, what kube-controller-manager does in a cluster: owners (garbage collection), namespaces,
// deleted definitions, old Events, what is used of quotas. All are driven by the store's events, with one look at everything at the start for what happened
// while nobody watched; none polls.

/** Everything that removes or keeps objects by itself. */
export interface Collectors {
  /** True when nothing is left to do at this moment. Old Events do not count: their time has not come. */
  readonly idle: boolean;
  /** The root certificate has changed: its copies in the namespaces are written anew. */
  refresh(): void;
  /** Ends timers and starts nothing more; resolves when what is under way has ended. The store is still needed until then. */
  close(): Promise<void>;
}

/**
 * Starts all collectors; resolves when the first namespaces exist and have what belongs into them. They see every event from before the
 * first look on, so nothing falls in between; what is seen twice is done once.
 */
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
