import type { Millis } from "#lib/base/index.ts";
import type { ListenChoice } from "#kernel/dialect/index.ts";
import type { TlsPaths } from "#kernel/rpc/index.ts";
import type { Settings } from "./settings.ts";

/** Members that may be left out, or left undefined by whoever reads them one by one. */
type Some<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** What a person has set of how workflows are carried out. */
export type GivenSettings = Some<Omit<Settings, "rejectBackoff">> & {
  readonly rejectBackoff?: Some<Settings["rejectBackoff"]>;
};

/** What a person has set of this dialect, checked. What is absent is as usual. */
export interface TinkerbellOptions {
  /** Agents connect nowhere without. */
  readonly listen?: ListenChoice;
  /** What is at work in this process: both when absent. On a cluster they may be processes of their own, because they share nothing but its API. */
  readonly part?: "controller" | "server" | undefined;
  /** What Agent objects call the server of this process: its own where a cluster has several. */
  readonly name?: string | undefined;
  readonly settings?: GivenSettings;
  /** Tokens unless told. */
  readonly auth?: "token" | "mtls" | undefined;
  /** Agents without a credential are let in, as any id. */
  readonly allowsAnonymous?: boolean;
  readonly tls?: TlsPaths | undefined;
  readonly pollHold?: Millis | undefined;
  readonly keepalive?: Some<{ readonly time: Millis; readonly timeout: Millis }>;
}
