import type { Millis } from "#lib/base/index.ts";

export interface Settings {
  /** Longest delay while steps wait. */
  readonly maxWaitBackoff: Millis;
  /** Longest delay while a step is failed. */
  readonly maxFailedBackoff: Millis;
  /** Retries after the first failure of a step. */
  readonly maxErrorRetries: number;
  /** Suspends instead of terminating when retries are used up. */
  readonly suspendOnFailure: boolean;
  /** How long a step waits for an output. */
  readonly outputWaitTimeout: Millis;
  /** Of steps without one; 0 is none. */
  readonly defaultStepTimeout: Millis;
  /** Revisions kept of each application. */
  readonly revisionLimit: number;
  /** Revisions kept of each definition. */
  readonly definitionRevisionLimit: number;
  /** For one evaluation of CUE. */
  readonly cueEvalTimeout: Millis;
  /** CIDR blocks that HTTP, mail and Git actions must not reach. */
  readonly egressDeny: readonly string[];
  /** Whether applications may apply objects to other namespaces. */
  readonly allowCrossNamespace: boolean;
  readonly systemDefinitionNamespace: string;
  /** Directories of this machine that templates and repositories may be in; absolute. */
  readonly localRoots: readonly string[];
  /** Whether steps may start programs on this machine. */
  readonly allowExec: boolean;
  /** How often a finished application is looked at again. */
  readonly resync: Millis;
}

export const defaultSettings: Settings = {
  maxWaitBackoff: 60_000,
  maxFailedBackoff: 300_000,
  maxErrorRetries: 10,
  suspendOnFailure: false,
  outputWaitTimeout: 600_000,
  defaultStepTimeout: 0,
  revisionLimit: 10,
  definitionRevisionLimit: 20,
  cueEvalTimeout: 2000,
  // Metadata services of clouds.
  egressDeny: ["169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128"],
  allowCrossNamespace: true,
  systemDefinitionNamespace: "vela-system",
  localRoots: [],
  allowExec: false,
  resync: 300_000,
};

/** For commands that start no controllers: the variable of `--vela-system-namespace`, else the default. */
export const systemNamespaceOf = (variable: (name: string) => string | undefined): string =>
  variable("SLIPWAY_VELA_SYSTEM_NAMESPACE") ?? defaultSettings.systemDefinitionNamespace;

/** The settings that were given; absent ones have their defaults. */
export type GivenSettings = { readonly [K in keyof Settings]?: Settings[K] | undefined };

export const completeSettings = (given: GivenSettings = {}): Settings => ({
  ...defaultSettings,
  ...(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<Settings>),
});
