import { chmod, rm } from "node:fs/promises";
import { makeDirectories } from "#lib/base/index.node.ts";
import {
  type ApiClient,
  controllerFor,
  type Informer,
  type Manager,
  patchStatus,
  type ReconcileRequest,
  type Reconciler,
  refTo,
  removeFinalizer,
  requestFor,
  requestKey,
} from "#kernel/kit/index.ts";
import { keyOf, PersistentVolumeClaim, Pod, type Stored } from "#kernel/model/index.ts";
import { isFinished, type PodObject } from "../pod-types.ts";
import { claimDirectory, claimNames, type ClaimObject, type ClaimStatus } from "./claim.ts";

// A claim is a directory, `<data>/volumes/<namespace>/<name>`. It exists when the claim is Bound, and is removed with
// the claim once no Pod uses it any more.

/** Set on every claim by the server; removed here together with the directory. */
export const protectionFinalizer = "kubernetes.io/pvc-protection";
const byClaim = "claim";

/** Adds the controller that binds claims. `directory` holds all volumes; it is created with the first claim. */
export function addClaimController(manager: Manager, options: { readonly directory: string }): void {
  const claims = manager.mirror<ClaimObject>(PersistentVolumeClaim);
  const pods = manager.mirror<PodObject>(Pod);
  pods.addIndex(byClaim, (pod) => claimKeys(pod));
  const parts = { client: manager.client, claims, pods, directory: options.directory };
  controllerFor(manager, "persistentvolumeclaim")
    .for<ClaimObject>(PersistentVolumeClaim)
    .watches<PodObject>(Pod, (pod) =>
      claimKeys(pod).flatMap((key) => {
        // A Pod only matters to a claim that is being deleted.
        const claim = claims.get(key);
        return claim?.metadata.deletionTimestamp === undefined ? [] : [requestFor(claim)];
      }),
    )
    .complete(new ClaimReconciler(parts));
}

const claimKeys = ({ metadata: { namespace = "" }, spec }: PodObject): readonly string[] =>
  claimNames(spec).map((name) => keyOf({ namespace, name }));

interface Parts {
  readonly client: ApiClient;
  readonly claims: Informer<ClaimObject>;
  readonly pods: Informer<PodObject>;
  readonly directory: string;
}

/** The directory is created before the status that announces it, and removed before the finalizer that guards it. */
class ClaimReconciler implements Reconciler {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async reconcile(request: ReconcileRequest): Promise<undefined> {
    const claim = this.#parts.claims.get(requestKey(request));
    if (claim === undefined) return;
    const { namespace = "", name } = claim.metadata;
    const path = claimDirectory(this.#parts.directory, namespace, name);
    if (claim.metadata.deletionTimestamp === undefined) await this.#bind(claim, path);
    else if (!(await this.#isUsed(claim))) await this.#remove(claim, path);
  }

  async #bind(claim: Stored<ClaimObject>, path: string): Promise<void> {
    const { client } = this.#parts;
    await makeDirectories(path);
    // Containers of any user may write to it; the umask must not narrow the mode.
    await chmod(path, 0o777);
    const { accessModes = [], resources = {}, volumeName } = claim.spec;
    const status: ClaimStatus = { phase: "Bound", accessModes, capacity: resources.requests ?? {} };
    const { uid } = claim.metadata;
    const body = { metadata: { uid }, spec: { volumeName: `pvc-${uid}` } };
    const named =
      volumeName === undefined
        ? await client.patch<ClaimObject>(refTo(PersistentVolumeClaim, claim), { type: "merge", body })
        : claim;
    await patchStatus(client, PersistentVolumeClaim, named, status);
  }

  async #remove(claim: Stored<ClaimObject>, path: string): Promise<void> {
    if (claim.metadata.finalizers?.includes(protectionFinalizer) !== true) return;
    await rm(path, { recursive: true, force: true });
    await removeFinalizer(this.#parts.client, PersistentVolumeClaim, claim, protectionFinalizer);
  }

  /** Pods that have ended do not count. The server is asked as well: a Pod may have been bound a moment ago. */
  async #isUsed({ metadata }: Stored<ClaimObject>): Promise<boolean> {
    const { pods, client } = this.#parts;
    const isUser = (pod: PodObject) => pod.spec.nodeName !== undefined && !isFinished(pod);
    if (pods.byIndex(byClaim, keyOf(metadata)).some(isUser)) return true;
    const { namespace = "", name } = metadata;
    const { items } = await client.list<PodObject>(Pod, { namespace });
    return items.some((pod) => isUser(pod) && claimNames(pod.spec).includes(name));
  }
}
