import {
  type Cancel,
  type Clock,
  type Instant,
  type Logger,
  messageOf,
  type Millis,
  ok,
  err,
  type Result,
} from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { AccountTokenSource, PodObject, Volume } from "../pod-types.ts";

// Tokens of service accounts are files of volumes, issued for one pod and replaced before they expire.

export interface TokenWish {
  readonly namespace: string;
  readonly account: string;
  readonly pod: { readonly name: string; readonly uid: string };
  /** Default: this server's own. */
  readonly audience?: string;
  readonly seconds: number;
}

/** Issues a token; rejects in the API server's words. */
export type IssueToken = (wish: TokenWish) => Promise<{ readonly token: string; readonly expiresAt: Instant }>;
export type TokenOf = (source: AccountTokenSource) => Result<string, string>;

export const tokenSources = (volumes: readonly Volume[] | undefined): readonly AccountTokenSource[] =>
  (volumes ?? []).flatMap(({ projected }) =>
    (projected?.sources ?? []).flatMap(({ serviceAccountToken: token }) => (token === undefined ? [] : [token])),
  );

/** A token is replaced after this share of its lifetime, at most after a day; as the kubelet does. */
const usedShare = 0.8;
const longestUse: Millis = 86_400_000;
const retryAfter: Millis = 60_000;

export interface AccountTokensOptions {
  readonly issue: IssueToken;
  readonly clock: Clock;
  readonly log: Logger;
  readonly rewrite: (pod: Stored<PodObject>, tokenOf: TokenOf) => Promise<void>;
}

/** A pod whose tokens are replaced; it has a timer from the first answer on. */
interface Kept {
  cancel?: Cancel;
}

/** Keeps the tokens of the pods of one node fresh, with one timer per pod until `forget`. */
export class AccountTokens {
  readonly #options: AccountTokensOptions;
  readonly #kept = new Map<string, Kept>();
  #isClosed = false;

  constructor(options: AccountTokensOptions) {
    this.#options = options;
  }

  /** Issues tokens for all sources of the pod and schedules their replacement. */
  async issueFor(pod: Stored<PodObject>): Promise<TokenOf> {
    const sources = tokenSources(pod.spec.volumes);
    const found = new Map<AccountTokenSource, Result<string, string>>();
    const kept = sources.length > 0 ? this.#keep(pod) : undefined;
    let next: Millis = longestUse;
    for (const source of sources) {
      const { clock } = this.#options;
      try {
        const { token, expiresAt } = await this.#options.issue(wishOf(pod, source));
        found.set(source, ok(token));
        next = Math.min(next, usedShare * (expiresAt - clock.now()));
      } catch (thrown) {
        found.set(source, err(`failed to fetch token: ${messageOf(thrown)}`));
        next = Math.min(next, retryAfter);
      }
    }
    if (kept !== undefined) this.#arrange(pod, kept, next);
    return (source) => found.get(source) ?? err("the token was not asked for");
  }

  /** For tokens of an earlier process: their age is unknown, so they are replaced at once. May be repeated. */
  adopt(pod: Stored<PodObject>): void {
    if (this.#kept.has(pod.metadata.uid) || tokenSources(pod.spec.volumes).length === 0) return;
    this.#arrange(pod, this.#keep(pod), 0);
  }

  forget(uid: string): void {
    this.#kept.get(uid)?.cancel?.();
    this.#kept.delete(uid);
  }

  close(): void {
    this.#isClosed = true;
    for (const uid of this.#kept.keys()) this.forget(uid);
  }

  #keep({ metadata: { uid } }: Stored<PodObject>): Kept {
    this.forget(uid);
    const kept: Kept = {};
    if (!this.#isClosed) this.#kept.set(uid, kept);
    return kept;
  }

  /** Does nothing if the pod was forgotten or kept again since `kept`. */
  #arrange(pod: Stored<PodObject>, kept: Kept, delay: Millis): void {
    if (this.#kept.get(pod.metadata.uid) !== kept) return;
    const replace = () => {
      void this.#replace(pod).catch((thrown: unknown) => {
        const { namespace, name } = pod.metadata;
        this.#options.log.warn("tokens of a pod cannot be replaced", {
          pod: `${namespace}/${name}`,
          error: messageOf(thrown),
        });
      });
    };
    kept.cancel = this.#options.clock.after(delay, replace);
  }

  /** If one token is refused, all stay as they are and are requested again. */
  async #replace(pod: Stored<PodObject>): Promise<void> {
    const tokenOf = await this.issueFor(pod);
    // The directory of a pod that is gone must not come back.
    if (this.#kept.has(pod.metadata.uid)) await this.#options.rewrite(pod, tokenOf);
  }
}

const wishOf = (
  { metadata, spec }: Stored<PodObject>,
  { audience, expirationSeconds }: AccountTokenSource,
): TokenWish => ({
  namespace: metadata.namespace ?? "",
  account: spec.serviceAccountName ?? "default",
  pod: { name: metadata.name, uid: metadata.uid },
  seconds: expirationSeconds ?? 3600,
  ...(audience === undefined || audience === "" ? {} : { audience }),
});
