import { defined } from "#lib/base/index.ts";

/** The settings of a server that sets none. Times are in milliseconds. */
export const defaultSettings = {
  /** Longest delay while steps wait. */
  maxWaitBackoff: 60_000,
  /** Longest delay while a step is failed. */
  maxFailedBackoff: 300_000,
  /** Retries after the first failure of a step. */
  maxErrorRetries: 10,
  /** Suspends instead of terminating when retries are used up. */
  suspendOnFailure: false,
  /** How long a step waits for an output. */
  outputWaitTimeout: 600_000,
  /** Of steps without one; 0 is none. */
  defaultStepTimeout: 0,
  /** Revisions kept of each application. */
  revisionLimit: 10,
  /** Revisions kept of each definition. */
  definitionRevisionLimit: 20,
  /** For one evaluation of CUE. */
  cueEvalTimeout: 2000,
  /** Networks that HTTP, mail and Git actions must not reach: by default the metadata services of clouds. */
  egressDeny: Object.freeze(["169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128"]),
  /** Whether applications may apply objects to other namespaces. */
  allowCrossNamespace: true,
  systemDefinitionNamespace: "vela-system",
  /** Directories of this machine that templates and repositories may be in; absolute. */
  localRoots: Object.freeze<string[]>([]),
  /** Whether steps may start programs on this machine. */
  allowExec: false,
  /** How often a finished application is looked at again. */
  resync: 300_000,
};

export type Settings = Readonly<typeof defaultSettings>;

/** For commands that start no controllers: the variable of `--vela-system-namespace`, else the default. */
export const systemNamespaceOf = (variable: (name: string) => string | undefined): string =>
  variable("SLIPWAY_VELA_SYSTEM_NAMESPACE") ?? defaultSettings.systemDefinitionNamespace;

/** The settings that were given; absent ones have their defaults. */
export type GivenSettings = { readonly [K in keyof Settings]?: Settings[K] | undefined };

export const completeSettings = (given: GivenSettings = {}): Settings => ({ ...defaultSettings, ...defined(given) });
