import { join } from "node:path";
import { openStore } from "#kernel/apiserver/index.ts";

const key = (resource: string, namespace: string, name: string) => ({ group: "", resource, namespace, name });
const object = (kind: string, namespace: string, name: string, owner?: string) => ({
  apiVersion: "v1",
  kind,
  metadata: {
    name,
    uid: `uid-${name}`,
    creationTimestamp: "2026-01-01T00:00:00Z",
    ...(namespace === "" ? {} : { namespace }),
    ...(owner === undefined
      ? {}
      : { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: owner, uid: `uid-${owner}` }] }),
  },
});

/** A data directory whose store has a namespace `demo` and two objects in it, `a` owned by `b`. */
export async function fillStore(directory: string): Promise<void> {
  const store = await openStore(join(directory, "store"));
  await store.write((transaction) => {
    transaction.put(key("configmaps", "demo", "a"), object("ConfigMap", "demo", "a", "b"));
    transaction.put(key("configmaps", "demo", "b"), object("ConfigMap", "demo", "b"));
    return transaction.put(key("namespaces", "", "demo"), object("Namespace", "", "demo"));
  });
  await store.close();
}
