import type { Logger } from "#lib/base/index.ts";
import type { TemplateHost } from "#kernel/template/index.ts";
import type { ClusterFlags, ClusterWork } from "./cluster-options.ts";
import type { GlobalOptions, Invocation } from "./command.ts";
import type { Environment } from "./environment.ts";

/** What the program offers to verbs of dialects, loaded on first use. */
export interface Host {
  readonly version: string;
  /** Describes the running control plane that these options select. */
  findRunning(options: GlobalOptions, environment: Environment): Promise<string | undefined>;
  /** Runs controllers or servers for the named cluster until a signal; resolves with the exit code. */
  serveCluster(invocation: Invocation<ClusterFlags>, work: ClusterWork): Promise<number>;
  /** Renders templates in a thread; the caller closes it. */
  openTemplates(): Promise<TemplateHost>;
  /** The log of a long-running program, on stderr: lines for a terminal, else JSON. */
  openLog(level: "error" | "warn" | "info" | "debug", isTerminal: boolean): Promise<Logger>;
  /** The program that keeps processes alive after their starter. */
  runnerPath(): Promise<string>;
}
