import type { Logger } from "#lib/base/index.ts";
import type { TemplateHost } from "#kernel/template/index.ts";
import type { ClusterFlags, ClusterWork } from "./cluster-options.ts";
import type { GlobalOptions, Invocation } from "./command.ts";
import type { Environment } from "./environment.ts";

/** What the program offers to a command of a dialect. Each part is loaded when it is first used. */
export interface Host {
  readonly version: string;
  /** Describes the control plane that these options select, if one is running: its kubeconfig or its data directory. */
  findRunning(options: GlobalOptions, environment: Environment): Promise<string | undefined>;
  /** Runs controllers or servers for the cluster that was named until a signal; resolves with the exit code. */
  serveCluster(invocation: Invocation<ClusterFlags>, work: ClusterWork): Promise<number>;
  /** Renders templates in a thread of its own; the caller closes it. */
  openTemplates(): Promise<TemplateHost>;
  /** The log of a program that runs until a signal, on stderr: lines for a terminal, else JSON. */
  openLog(level: "error" | "warn" | "info" | "debug", isTerminal: boolean): Promise<Logger>;
  /** The program that keeps processes alive beyond the one that started them. */
  runnerPath(): Promise<string>;
}
