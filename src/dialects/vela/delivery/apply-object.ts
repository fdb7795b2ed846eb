import { defined, type Clock, sleep } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined, type Ref, refTo } from "#kernel/kit/index.ts";
import { asJson, isNotFound, type KubeObject, type ResourceType, type Stored } from "#kernel/model/index.ts";
import type { App } from "../app.ts";
import { annotation, nameOf } from "../labels.ts";
import { keepingLive, keptPaths, updateWay } from "../policies/apply-rules.ts";
import type { RuleSubject } from "../policies/rules.ts";
import { DeliveryFault } from "./faults.ts";
import { type Claim, claimOf } from "./ownership.ts";

/** Owner of all fields that applications write. */
export const fieldManager = "slipway-vela";

export interface ApplyParts {
  readonly app: App;
  readonly clock: Clock;
  readonly allowCrossNamespace: boolean;
  readonly signal: AbortSignal;
}

/** An object that may be written, and how. Nothing has been written yet. */
export interface Prepared {
  readonly client: ApiClient;
  readonly type: ResourceType;
  readonly object: KubeObject;
  readonly live?: Stored;
  readonly claim: Exclude<Claim, { readonly kind: "refused" }>;
  readonly subject: RuleSubject;
}

/** Rejects with a DeliveryFault if the object may not be delivered. */
export async function prepareObject(
  { app, allowCrossNamespace, signal }: ApplyParts,
  client: ApiClient,
  object: KubeObject,
  subject: RuleSubject,
): Promise<Prepared> {
  const type = await client.resourceType(object.apiVersion, object.kind);
  if (type === undefined) throw new DeliveryFault(`no kind ${object.kind} in version ${object.apiVersion}`, true);
  const placed = type.namespaced ? object : withoutNamespace(object);
  const { namespace } = placed.metadata;
  if (type.namespaced && !allowCrossNamespace && namespace !== app.identity.namespace)
    throw new DeliveryFault(
      `${nameOf(placed)} is outside of the application's namespace ${app.identity.namespace}, which is not allowed`,
    );
  const live = await getOrUndefined(client, refTo(type, placed), signal);
  const claim = claimOf(app, subject, placed, live);
  if (claim.kind === "refused") throw new DeliveryFault(claim.reason);
  return { client, type, object: placed, ...defined({ live }), claim, subject };
}

function withoutNamespace(object: KubeObject): KubeObject {
  const { namespace: _none, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Writes the object as its policies demand; returns it as it is then. Repeatable. */
export async function writeObject(
  { app, clock, signal }: ApplyParts,
  prepared: Prepared,
  moment: "onUpdate" | "onStateKeep" = "onUpdate",
): Promise<Stored> {
  const { client, type, live, claim, subject } = prepared;
  if (claim.kind === "read" && live !== undefined) return live;
  if (claim.kind === "use" && live !== undefined) return await share(client, type, live, claim.sharers, signal);
  const shared = claim.kind === "write" ? claim.sharers : undefined;
  const wanted = shared === undefined ? prepared.object : withSharers(prepared.object, shared);
  const object = keepingLive(wanted, live, keptPaths(app, subject, moment));
  if (object === undefined && live !== undefined) return live;
  const body = object ?? wanted;
  const way = live === undefined ? "patch" : updateWay(app, subject, body, live);
  if (way === "replace" && live !== undefined) {
    const { resourceVersion, uid } = live.metadata;
    const replaced = { ...body, metadata: { ...body.metadata, resourceVersion, uid } };
    return await client.update(type, replaced, { fieldManager, signal });
  }
  if (way === "recreate" && live !== undefined) await removeFirst(client, refTo(type, live), live, clock, signal);
  // Only objects of this application get here, so its fields are taken back from whoever changed them.
  const patch = { type: "apply", body: asJson(body), force: true } as const;
  return await client.patch(refTo(type, body), patch, { fieldManager, signal });
}

const withSharers = (object: KubeObject, sharers: readonly string[]): KubeObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    annotations: { ...object.metadata.annotations, [annotation.sharedBy]: sharers.join(",") },
  },
});

/** Notes that the application uses the object of another one. */
async function share(
  client: ApiClient,
  type: ResourceType,
  live: Stored,
  sharers: readonly string[],
  signal: AbortSignal,
): Promise<Stored> {
  const list = sharers.join(",");
  if (live.metadata.annotations?.[annotation.sharedBy] === list) return live;
  const { resourceVersion } = live.metadata;
  const body = { metadata: { resourceVersion, annotations: { [annotation.sharedBy]: list } } };
  return await client.patch(refTo(type, live), { type: "merge", body }, { fieldManager, signal });
}

const recreateChecks = 20;
const recreateCheckMs = 100;

/** Waits briefly until the object is gone; a later attempt goes on waiting. */
async function removeFirst(
  client: ApiClient,
  ref: Ref,
  live: Stored,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { uid } = live.metadata;
    await client.delete(ref, { preconditions: { uid }, propagationPolicy: "Background", signal });
  } catch (thrown) {
    if (!isNotFound(thrown)) throw thrown;
  }
  for (let check = 0; check < recreateChecks; check++) {
    if ((await getOrUndefined(client, ref, signal)) === undefined) return;
    await sleep(clock, recreateCheckMs, signal);
  }
  throw new DeliveryFault(`${nameOf(live)} is still being deleted, to be created anew`);
}
