import type { Millis } from "#lib/base/index.ts";
import type { TlsPaths } from "#kernel/rpc/index.ts";
import type { AgentAuth } from "./server/identity.ts";
import type { Settings } from "./settings.ts";

/** What a person has set of this dialect, checked. What is absent is as usual. */
export interface TinkerbellOptions {
  /** Where agents connect, `host:port`; `off` is nowhere. */
  readonly listen?: string;
  readonly settings?: Partial<Settings>;
  readonly auth?: AgentAuth;
  readonly tls?: TlsPaths;
  readonly pollHold?: Millis;
  readonly keepalive?: { readonly time: Millis; readonly timeout: Millis };
}
