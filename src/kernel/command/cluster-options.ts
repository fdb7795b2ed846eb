import type { OptionSpec } from "./option-spec.ts";

/** Options of commands that serve a cluster. */
export interface ClusterFlags {
  /** Requires the right to change CustomResourceDefinitions. */
  readonly installCrds?: boolean;
  /** Unused by servers of agents, of which any number may run. */
  readonly leaseNamespace?: string;
  /** As typed. */
  readonly dataDir?: string;
  /** Of the log on stderr. */
  readonly logLevel: "error" | "warn" | "info" | "debug";
  /** Another spelling of `logLevel` in some verbs; it wins. */
  readonly loglevel?: ClusterFlags["logLevel"];
}

const heading = "On a cluster:";

export const clusterOptions: readonly OptionSpec[] = [
  { flags: "--install-crds", summary: "install or update the CRDs first", heading },
  {
    flags: "--lease-namespace <name>",
    summary: "namespace of the leader election lease (default: that of the kubeconfig)",
    heading,
  },
  {
    flags: "--data-dir <folder>",
    summary: "the data directory (default: $SLIPWAY_DATA_DIR or ~/.slipway)",
    heading,
  },
  {
    flags: "--log-level <level>",
    summary: "log level",
    choices: ["error", "warn", "info", "debug"],
    initial: "info",
    heading,
  },
];

export interface ClusterWork {
  /** Default: all dialects, and what they share. */
  readonly language?: string;
  readonly dialectOptions?: Readonly<Record<string, unknown>>;
  /**
   * Replaces `dialectOptions` at a control plane of `slipway up`, whose controllers do the rest. Without it such a
   * control plane is refused.
   */
  readonly besideOwn?: Readonly<Record<string, unknown>>;
  /**
   * The Node condition of a control plane that leaves this work to others, and how to start it so; default: every
   * control plane does.
   */
  readonly besideOwnIf?: { readonly condition: string; readonly hint: string };
  /** Plurals of the kinds that this work watches; default: all of its dialects' kinds. */
  readonly looksAt?: readonly string[];
  /** Does not conflict with the controllers of `slipway up`. */
  readonly isForAny?: boolean;
  /** Only the holder of the lease acts; without it any number may. */
  readonly leaseName?: string;
}
