import type { KubeObject, Stored } from "#kernel/model/index.ts";
import type { App } from "../app.ts";
import { annotation, nameOf, ownerOf } from "../labels.ts";
import { isReadOnly, isShared, mayTakeOver } from "../policies/apply-rules.ts";
import type { RuleSubject } from "../policies/rules.ts";

/** `use`: shared with the application that writes it. `read`: only its existence counts. */
export type Claim =
  | { readonly kind: "write"; readonly sharers?: readonly string[] }
  | { readonly kind: "use"; readonly sharers: readonly string[] }
  | { readonly kind: "read" }
  | { readonly kind: "refused"; readonly reason: string };

/** What the application may do with the object. `live` is absent if it does not exist. */
export function claimOf(app: App, subject: RuleSubject, wanted: KubeObject, live: Stored | undefined): Claim {
  if (isReadOnly(app, subject))
    return live === undefined
      ? refused(`${nameOf(wanted)} does not exist and policy read-only forbids creating it`)
      : { kind: "read" };
  const own = appKey(app);
  const isSharing = isShared(app, subject);
  const sharers = live === undefined ? [] : sharersOf(live);
  const withOwn = sharers.includes(own) ? sharers : [...sharers, own];
  const sharing = isSharing ? { sharers: withOwn } : {};
  if (live === undefined) return { kind: "write", ...sharing };
  const owner = ownerOf(live);
  if (owner === undefined) {
    // A WorkflowRun labels nothing, so its own objects look like this, too.
    if (app.identity.revision === "" || mayTakeOver(app, subject)) return { kind: "write", ...sharing };
    return refused(`${nameOf(live)} exists but is not managed by any application; policy take-over adopts it`);
  }
  const ownerKey = `${owner.namespace}/${owner.name}`;
  if (ownerKey === own && app.identity.revision !== "") return { kind: "write", ...sharing };
  if (isSharing) return { kind: "use", sharers: sharers.includes(ownerKey) ? withOwn : [ownerKey, ...withOwn] };
  return refused(`${nameOf(live)} exists but is managed by other application ${ownerKey}`);
}

const refused = (reason: string): Claim => ({ kind: "refused", reason });

export const appKey = ({ identity }: App): string => `${identity.namespace}/${identity.name}`;

/** Applications that use the object, its owner first. */
export const sharersOf = ({ metadata }: KubeObject): readonly string[] =>
  (metadata.annotations?.[annotation.sharedBy] ?? "").split(",").filter((name) => name !== "");
