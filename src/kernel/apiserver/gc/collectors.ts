import type { ApiContext } from "../verbs/context.ts";
import { DefinitionCleaner } from "./definitions.ts";
import { EventTtl } from "./event-ttl.ts";
import { NamespaceKeeper } from "./namespaces.ts";
import { OwnerCollector } from "./owners.ts";
import { QuotaKeeper } from "./quotas.ts";

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
