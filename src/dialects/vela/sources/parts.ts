import type { EgressRules } from "#kernel/couriers/index.ts";
import type { TemplateHost } from "#kernel/template/index.ts";
import type { ActionScope } from "../ops/provider.ts";

/** For whom a source is read. */
export type SourceScope = Pick<ActionScope, "app" | "client" | "clock" | "signal">;

/** What the actions of the use cases need besides their scope. */
export interface UseCaseParts {
  readonly templates: Pick<TemplateHost, "renderChart">;
  /** For clones and archives: absolute, created when needed, and only for these actions. */
  readonly directory: string;
  /** Of the programs that are started: Git, kustomize. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Absolute directories that templates and repositories of this machine may be in; none by default. */
  readonly localRoots?: readonly string[];
  /** Whether `exec/run` may start programs on this machine. */
  readonly allowExec?: boolean;
  /** `EgressDeny`. */
  readonly egress?: EgressRules;
}
