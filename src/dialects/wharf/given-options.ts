import type { Millis } from "#lib/base/index.ts";
import type { ListenChoice } from "#kernel/dialect/index.ts";
import type { Shard } from "./aggregator/shard.ts";
import type { ProvisionerOptions } from "./provisioner/open-provisioner.ts";

// What is usual where nobody has said anything is not here: who reads options leaves it out, and who uses them knows it. That way the flags of a
// command, its variables and a test say the same by saying nothing.

/** What a person has set of this dialect, checked. What is absent is as usual. */
export interface WharfOptions {
  /** Where wharf-api answers; nowhere without. */
  readonly listen?: ListenChoice;
  /** The file of the token that clients present; absolute. A random token, in a file of the server's own, when absent. */
  readonly tokenFile?: string;
  /** Clients that present nothing are let in, as the original does. */
  readonly allowsAnonymous?: boolean;
  /** Origins of web pages that may use wharf-api, `*` for all of them; none when absent. */
  readonly origins?: readonly string[];
  /** Where projects are created that come over REST. */
  readonly namespace?: string;
  /** Which installation this is. */
  readonly instance?: string;
  /** Where workers are asked for instead of at the provisioner of this server. */
  readonly engineUrl?: string;
  /** The file of the token that is asked for there; absolute. The one of this server is not told to it. */
  readonly engineTokenFile?: string;
  /** For how long an engine that does not answer is asked again before the build has failed. */
  readonly triggerDeadlineMs?: Millis;
  /** The provisioner of this server; there is none without. */
  readonly provisioner?: ProvisionerOptions;
  /** How results of workers are carried to wharf-api; off where another process does. */
  readonly aggregator?: AggregatorChoice | "off";
  /** This process is the aggregator or the watchdog, or wharf-api without the controllers of builds, and nothing else. Everything when absent. */
  readonly part?: "aggregator" | "api" | "provisioner" | "watchdog";
  /** What compares workers and builds; off where another process does. */
  readonly watchdog?: WatchdogChoice | "off";
}

/** A service elsewhere. */
export interface NamedService {
  /** Of http or https; what is behind the port is the service's own and left out. */
  readonly url: string;
  /** The file of the token that is asked for there; absolute. Without, none is brought: that of this server is not told to others. */
  readonly tokenFile?: string;
}

/** Whom an aggregator or a watchdog is a client of. */
export interface NamedServices {
  /** Where wharf-api is; that of this server when absent. */
  readonly api?: NamedService;
  /** Where the provisioner is; the engine of this server when absent. */
  readonly provisioner?: NamedService;
}

/** What a person has set of the watchdog. */
export interface WatchdogChoice extends NamedServices {
  /** Between two looks. */
  readonly intervalMs?: Millis;
  /** How old must be what it acts on. */
  readonly minAgeMs?: Millis;
}

/** What a person has set of the aggregator. */
export interface AggregatorChoice extends NamedServices {
  readonly shard?: Shard;
  readonly maxWorkers?: number;
  /** Whose Pods are workers without a resource of their own. */
  readonly pods?: { readonly namespace: string; readonly instance: string };
  /** Where workers serve their results whose address has no port. */
  readonly workerPort?: number;
}
