import type { Logger } from "#lib/base/index.ts";
import type { KindRegistry } from "./crds/registry.ts";
import type { Store, Subscription } from "./store/store.ts";
import { definitions } from "./verbs/definition-rules.ts";

/** Changes apply in the turn they are published, before their writer is answered. */
export function followDefinitions(store: Store, registry: KindRegistry, log: Logger): Subscription {
  const { entries, revision } = store.page(definitions, {});
  for (const entry of entries) registry.setCrd(entry.object());
  return store.subscribe(definitions, revision, (events) => {
    for (const { type, entry } of events) {
      try {
        if (type === "delete") registry.removeCrd(entry.key.name);
        else registry.setCrd(entry.object());
      } catch (error) {
        // It was validated when written, so this is a bug; serve the other kinds.
        log.error("custom resource definition cannot be served", { name: entry.key.name, error });
      }
    }
  });
}
