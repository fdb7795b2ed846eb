import type { Millis } from "#lib/base/index.ts";
import type { TlsPaths } from "#kernel/rpc/index.ts";
import type { AgentAuth } from "./server/identity.ts";
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
  readonly listen?: {
    /** `host:port`; port 0 is a free one. */
    readonly address: string;
    /** Nobody has named it: where something else has it, the server goes on without. */
    readonly isUsual: boolean;
  };
  readonly settings?: GivenSettings;
  readonly auth?: AgentAuth | undefined;
  readonly tls?: TlsPaths | undefined;
  readonly pollHold?: Millis | undefined;
  readonly keepalive?: Some<{ readonly time: Millis; readonly timeout: Millis }>;
}
