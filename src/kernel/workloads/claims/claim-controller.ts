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

// On one machine a claim is a directory: `<data>/volumes/<namespace>/<name>`. It is there when the claim is Bound, and goes with the claim
// once no Pod uses it any more. Names are those of the API, which has no slash in them, so no claim leads out of its place.

/** Put on every claim by the server; taken away here when the directory is gone. */
export const protectionFinalizer = "kubernetes.io/pvc-protection";
/** Index of Pods by the keys of the claims they name. */
const byClaim = "claim";

/** Gives the manager the binder of claims. `directory` is where all volumes are; it is made when the first claim needs it. */
export function addClaimController(manager: Manager, options: { readonly directory: string }): void {
  const claims = manager.mirror<ClaimObject>(PersistentVolumeClaim);
  const pods = manager.mirror<PodObject>(Pod);
  pods.addIndex(byClaim, (pod) => claimKeys(pod));
  const parts = { client: manager.client, claims, pods, directory: options.directory };
  controllerFor(manager, "persistentvolumeclaim")
    .for<ClaimObject>(PersistentVolumeClaim)
    .watches<PodObject>(Pod, (pod) =>
      claimKeys(pod).flatMap((key) => {
        // A Pod matters to a claim that wants to go; a claim that stays does not ask who uses it.
        const claim = claims.get(key);
        return claim?.metadata.deletionTimestamp === undefined ? [] : [requestFor(claim)];
      }),
    )
    .complete(new ClaimReconciler(parts));
}

/** A Pod may name a claim that is not there: the index holds keys, not claims. */
const claimKeys = ({ metadata: { namespace = "" }, spec }: PodObject): readonly string[] =>
  claimNames(spec).map((name) => keyOf({ namespace, name }));

/** What a pass works with; all of it lives as long as the manager. */
interface Parts {
  readonly client: ApiClient;
  readonly claims: Informer<ClaimObject>;
  readonly pods: Informer<PodObject>;
  readonly directory: string;
}

/** The directory comes before the status that tells of it, and goes before the finalizer that guards it: a crash repeats, and loses nothing. */
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
    // A claim that waits for its Pods to end is looked at again when one of them changes.
    if (claim.metadata.deletionTimestamp === undefined) await this.#bind(claim, path);
    else if (!(await this.#isUsed(claim))) await this.#remove(claim, path);
  }

  /** The name of the volume is written once: it is the claim's own, as a provisioner would call it. Idempotent, also after a growth. */
  async #bind(claim: Stored<ClaimObject>, path: string): Promise<void> {
    const { client } = this.#parts;
    await makeDirectories(path);
    // Whoever the containers run as may write to it: its mode is not narrowed by ours.
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

  /** Who has taken the finalizer away by hand has taken the directory upon himself. */
  async #remove(claim: Stored<ClaimObject>, path: string): Promise<void> {
    if (claim.metadata.finalizers?.includes(protectionFinalizer) !== true) return;
    await rm(path, { recursive: true, force: true });
    await removeFinalizer(this.#parts.client, PersistentVolumeClaim, claim, protectionFinalizer);
  }

  /**
   * Pods that have ended use nothing, and will not start again. One that no machine has yet will not get this claim, and looks again
   * once it is bound: it is asked of the server itself who is bound by now.
   */
  async #isUsed({ metadata }: Stored<ClaimObject>): Promise<boolean> {
    const { pods, client } = this.#parts;
    const isUser = (pod: PodObject) => pod.spec.nodeName !== undefined && !isFinished(pod);
    if (pods.byIndex(byClaim, keyOf(metadata)).some(isUser)) return true;
    const { namespace = "", name } = metadata;
    const { items } = await client.list<PodObject>(Pod, { namespace });
    return items.some((pod) => isUser(pod) && claimNames(pod.spec).includes(name));
  }
}
