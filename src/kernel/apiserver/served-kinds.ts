import type { Logger } from "#lib/base/index.ts";
import type { KindRegistry } from "./crds/registry.ts";
import type { Store, Subscription } from "./store/store.ts";
import { definitions } from "./verbs/definition-rules.ts";

/**
 * Keeps the registry in step with the stored CustomResourceDefinitions: all of them now, and every change in the turn in which it
 * is published, which is before its writer gets an answer. So `kubectl apply -f crd.yaml -f cr.yaml` works in one command, and discovery
 * never shows a kind that is not served or hides one that is. No event is missed: the subscription starts at the revision that was read.
 */
export function followDefinitions(store: Store, registry: KindRegistry, log: Logger): Subscription {
  const { entries, revision } = store.page(definitions, {});
  for (const entry of entries) registry.setCrd(entry.object());
  return store.subscribe(definitions, revision, (events) => {
    for (const { type, entry } of events) {
      try {
        if (type === "delete") registry.removeCrd(entry.key.name);
        else registry.setCrd(entry.object());
      } catch (error) {
        // It was validated when it was written, so this is a bug; the other kinds go on being served.
        log.error("custom resource definition cannot be served", { name: entry.key.name, error });
      }
    }
  });
}
