import { FakeClock, type JsonObject, silentLog } from "#lib/base/index.ts";
import { Authorizer } from "../authz/authorizer.ts";
import { createRegistry } from "../crds/registry.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { memoryStore } from "../store/open.ts";
import type { Entry } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { defaultLimits, type Limits } from "../verbs/limits.ts";
import { noPodLogs, noPodSessions } from "../verbs/sources.ts";
import { Turns } from "../verbs/turns.ts";

/** The verbs' context without a server around it: a store in memory, the built-in kinds, a clock that stands still. */
export interface TestContext extends ApiContext {
  readonly clock: FakeClock;
  /** A kind by its plural, of the core group unless told. */
  served(plural: string, group?: string, version?: string): ServedResource;
  /** Stores an object of the core group as it is, with whatever metadata is missing. */
  put(plural: string, object: JsonObject & { readonly metadata: JsonObject }): Promise<Entry>;
  /** Serves the kind of a definition. */
  define(definition: object): void;
}

export function testContext(limits: Partial<Limits> = {}): TestContext {
  const clock = new FakeClock();
  const registry = createRegistry({ now: () => clock.now() });
  const store = memoryStore({ clock });
  let uids = 0;
  const newUid = () => `00000000-0000-4000-8000-${String((uids += 1)).padStart(12, "0")}`;
  return {
    store,
    clock,
    registry: () => registry,
    onKindsChange: (listener) => registry.onChange(listener),
    log: silentLog,
    limits: { ...defaultLimits, ...limits },
    turns: new Turns(clock),
    newUid,
    random: () => 0.5,
    podLogs: noPodLogs,
    podSessions: noPodSessions,
    authorizer: new Authorizer(store),
    tokens: { review: () => undefined },
    served(plural, group = "", version = "v1") {
      const found = registry.find(group, version, plural);
      if (found === undefined) throw new Error(`${plural} is not served`);
      return found;
    },
    put(plural, object) {
      const { namespace = "default", name = "" } = object.metadata as {
        readonly namespace?: string;
        readonly name?: string;
      };
      const key = { group: "", resource: plural, namespace, name };
      return store.write((transaction) => {
        const before = transaction.head(key);
        const birth = { namespace, uid: before?.uid ?? newUid(), creationTimestamp: "2026-01-01T00:00:00Z" };
        return transaction.put(key, { apiVersion: "v1", ...object, metadata: { ...birth, ...object.metadata } });
      });
    },
    define(definition) {
      const kind = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
      if (kind !== undefined) registry.setCrd(kind.prepareForCreate(definition as JsonObject));
    },
  };
}
