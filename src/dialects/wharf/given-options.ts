import type { Millis } from "#lib/base/index.ts";
import type { ListenChoice } from "#kernel/dialect/index.ts";
import type { Shard } from "./aggregator/shard.ts";
import type { ProvisionerOptions } from "./provisioner/open-provisioner.ts";

// Defaults are not here: absent means default, and the code that uses an option knows its default.

/** Settings of this dialect, checked. */
export interface WharfOptions {
  /** The address of wharf-api; no listener if absent. */
  readonly listen?: ListenChoice;
  /** Absolute path of the token that clients must present; a random token if absent. */
  readonly tokenFile?: string;
  readonly allowsAnonymous?: boolean;
  /** Origins of web pages that may call wharf-api; `*` means all. */
  readonly origins?: readonly string[];
  /** The namespace of projects created over REST. */
  readonly namespace?: string;
  readonly instance?: string;
  /** The engine to use instead of this server's provisioner. */
  readonly engineUrl?: string;
  /** Absolute path of the token for `engineUrl`. This server's own token is never sent there. */
  readonly engineTokenFile?: string;
  /** How long an unresponsive engine is retried before the build fails. */
  readonly triggerDeadlineMs?: Millis;
  readonly provisioner?: ProvisionerOptions;
  readonly aggregator?: AggregatorChoice | "off";
  /** Runs only this part; `api` is wharf-api without the build controllers. All parts if absent. */
  readonly part?: "aggregator" | "api" | "provisioner" | "watchdog";
  readonly watchdog?: WatchdogChoice | "off";
}

export interface NamedService {
  /** Only its origin is used. */
  readonly url: string;
  /** Absolute path of the token. Without it no token is sent: this server's own is not for others. */
  readonly tokenFile?: string;
}

export interface NamedServices {
  readonly api?: NamedService;
  readonly provisioner?: NamedService;
}

export interface WatchdogChoice extends NamedServices {
  readonly intervalMs?: Millis;
  /** Workers and builds younger than this are left alone. */
  readonly minAgeMs?: Millis;
}

export interface AggregatorChoice extends NamedServices {
  readonly shard?: Shard;
  readonly maxWorkers?: number;
  /** Pods in this namespace that are workers without a Worker resource. */
  readonly pods?: { readonly namespace: string; readonly instance: string };
  /** Port of workers whose address has none. */
  readonly workerPort?: number;
}
