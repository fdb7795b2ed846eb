import type { ApiContext } from "../verbs/context.ts";
import { DefinitionCleaner } from "./definitions.ts";
import { EventTtl } from "./event-ttl.ts";
import { NamespaceKeeper } from "./namespaces.ts";
import { OwnerCollector } from "./owners.ts";

/** Everything that removes or keeps objects by itself. */
export interface Collectors {
  /** True when nothing is left to do at this moment. */
  readonly idle: boolean;
  /** The root certificate has changed. */
  refresh(): void;
  close(): Promise<void>;
}

/** Starts all collectors; resolves when the first namespaces exist. */
export async function startCollectors(
  context: ApiContext,
  rootCertificate: () => string | undefined,
): Promise<Collectors> {
  const owners = new OwnerCollector(context);
  const namespaces = new NamespaceKeeper(context, rootCertificate);
  const definitions = new DefinitionCleaner(context);
  const ttl = new EventTtl(context);
  const subscription = context.store.subscribeAll((events) => {
    owners.observe(events);
    namespaces.observe(events);
    definitions.observe(events);
    ttl.observe(events);
  });
  definitions.start();
  ttl.start();
  await namespaces.start();
  const scan = owners.scan().catch((error: unknown) => context.log.error("scan for owners failed", { error }));
  return {
    get idle() {
      return owners.idle && namespaces.idle && definitions.idle;
    },
    refresh: () => namespaces.refresh(),
    async close() {
      subscription.close();
      ttl.close();
      await Promise.all([owners.close(), namespaces.close(), definitions.close(), scan]);
    },
  };
}
