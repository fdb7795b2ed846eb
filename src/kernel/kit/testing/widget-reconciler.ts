import { refTo } from "#kernel/kit/client/request-path.ts";
import {
  apiVersionOf,
  ConfigMap,
  isNotFound,
  type KubeObject,
  type ResourceType,
  type Stored,
} from "#kernel/model/index.ts";
import type { Manager } from "../controller/manager.ts";
import { type Reconciler, TerminalError } from "../controller/reconciler.ts";
import { addFinalizer, ensureChild, patchStatus, removeFinalizer } from "../controller/writes.ts";

// A small but whole controller for tests: a Widget wants `spec.size` ConfigMaps, counts them in its status and removes them itself
// before it goes.

export type WidgetObject = KubeObject & { readonly spec: { readonly size: number } };

const finalizer = "slipway.dev/widget";

/** A Widget that wants so many ConfigMaps. */
export const widget = (type: ResourceType, namespace: string, name: string, size: number): WidgetObject => ({
  apiVersion: apiVersionOf(type),
  kind: type.kind,
  metadata: { name, namespace },
  spec: { size },
});
const child = ({ metadata }: Stored, index: number): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: `${metadata.name}-${index}`, namespace: metadata.namespace ?? "" },
});

/** Idempotent and level-based, as every reconciler must be: what it does follows from what is there, not from what has happened. */
export function widgetReconciler(manager: Manager, type: ResourceType): Reconciler {
  const { client } = manager;
  const widgets = manager.informers.acquire<WidgetObject>(type).informer;
  const children = manager.informers.acquire(ConfigMap).informer;
  children.addIndex("owner", ({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid));

  const remove = async (object: Stored): Promise<void> => {
    const preconditions = { uid: object.metadata.uid };
    await client.delete(refTo(ConfigMap, object), { preconditions }).catch((thrown: unknown) => {
      if (!isNotFound(thrown)) throw thrown;
    });
  };
  return {
    async reconcile({ namespace, name }) {
      const found = widgets.get(`${namespace}/${name}`);
      if (found === undefined) return;
      const owned = children.byIndex("owner", found.metadata.uid);
      if (found.metadata.deletionTimestamp !== undefined) {
        for (const object of owned) await remove(object);
        if (owned.length === 0) await removeFinalizer(client, type, found, finalizer);
        return;
      }
      const guarded = await addFinalizer(client, type, found, finalizer);
      const { size } = guarded.spec;
      const wanted = new Set(Array.from({ length: size }, (_none, index) => `${name}-${index}`));
      for (const object of owned) if (!wanted.has(object.metadata.name)) await remove(object);
      for (let index = 0; index < size; index++) {
        const { outcome } = await ensureChild(client, ConfigMap, child(guarded, index), guarded);
        if (outcome === "foreign") throw new TerminalError(`${name}-${index} belongs to somebody else`);
      }
      await patchStatus(client, type, guarded, { size });
    },
  };
}
