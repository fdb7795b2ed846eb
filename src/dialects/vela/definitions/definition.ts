import type { JsonObject } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";

export type DefinitionType = "component" | "trait" | "policy" | "workflow-step";

/** A stored, snapshotted or shipped definition. */
export interface Definition {
  readonly type: DefinitionType;
  readonly name: string;
  /** CUE; empty for definitions that are built in. */
  readonly template: string;
  /** As stored, without the template: workload, status, workloadRefPath, … */
  readonly spec: JsonObject;
  readonly annotations: Readonly<Record<string, string>>;
  /** Absent for shipped definitions. */
  readonly stored?: Stored;
}

/** Looks in the application's namespace, then in the system namespace, then among the shipped ones. */
export interface Definitions {
  /** `type` may name a revision: `name@v3`. */
  find(type: DefinitionType, name: string, namespace: string): Promise<Definition | undefined>;
  /** All names that `find` knows, for suggestions. */
  names(type: DefinitionType, namespace: string): Promise<readonly string[]>;
}
