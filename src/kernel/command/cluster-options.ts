import type { OptionSpec } from "./command.ts";

/** Options of commands that serve a named cluster; absent flags were not given. */
export interface ClusterFlags {
  /** Takes the right to change CustomResourceDefinitions. */
  readonly installCrds?: boolean;
  /** Means nothing to servers of agents, of which there may be any number. */
  readonly leaseNamespace?: string;
  /** As typed. */
  readonly dataDir?: string;
  /** Of the log on stderr. */
  readonly logLevel: "error" | "warn" | "info" | "debug";
  /** A second spelling of `logLevel` in some verbs; it wins. */
  readonly loglevel?: ClusterFlags["logLevel"];
}

const heading = "On a cluster:";

/** The options that `ClusterFlags` are read from. */
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

/** What a program that serves a cluster does there. */
export interface ClusterWork {
  /** The dialect whose controllers run; all dialects, and what they share, when absent. */
  readonly language?: string;
  /** Options of dialects, by their names. */
  readonly dialectOptions?: Readonly<Record<string, unknown>>;
  /**
   * Options that replace `dialectOptions` at a control plane of `slipway up`, whose own controllers do the rest. When absent, such a control plane is
   * refused.
   */
  readonly besideOwn?: Readonly<Record<string, unknown>>;
  /** The condition of the control plane's Node that leaves this work to others, and how to start it so; when absent, every control plane does. */
  readonly besideOwnIf?: { readonly condition: string; readonly hint: string };
  /** Plurals of the kinds that this work watches and needs rights for; all of its dialects' kinds when absent. */
  readonly looksAt?: readonly string[];
  /** This work does not conflict with the controllers of a `slipway up`. */
  readonly isForAny?: boolean;
  /** The lease whose holder alone acts; when absent, any number of processes may. */
  readonly leaseName?: string;
}
