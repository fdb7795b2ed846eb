import type { JsonObject } from "#lib/base/index.ts";
import type { Stored, Writer } from "#kernel/model/index.ts";
import type { CuePackages } from "#kernel/template/index.ts";
import type { Package } from "../kinds.ts";

export type DefinitionType = "component" | "trait" | "policy" | "workflow-step";

export type PackageProvider = NonNullable<Package["spec"]["provider"]>;

/** What a template imports from Package objects. */
export interface ImportedPackages {
  readonly sources: CuePackages;
  /** By names of Packages, which actions have as their `#provider`. */
  readonly providers: Readonly<Record<string, PackageProvider>>;
}

/** A stored, snapshotted or shipped definition. */
export interface Definition {
  readonly type: DefinitionType;
  readonly name: string;
  /** CUE; empty for definitions that are built in. */
  readonly template: string;
  /** As stored, without the template: workload, status, workloadRefPath, … */
  readonly spec: JsonObject;
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** Absent for shipped definitions. A DefinitionRevision if the type named one. */
  readonly stored?: Stored;
  /** Everybody who wrote it, administrators excepted: what it renders is done with the rights of them, too. */
  readonly writers?: readonly Writer[];
  /** Package objects that the template imports. */
  readonly imports?: ImportedPackages;
}

/** Looks in the application's namespace, then in the system namespace, then among the shipped ones. */
export interface Definitions {
  /** `type` may name a revision: `name@v3`. */
  find(type: DefinitionType, name: string, namespace: string): Promise<Definition | undefined>;
  /** A definition from elsewhere, such as a revision, with the Package objects that it imports. */
  readonly complete?: (definition: Definition, namespace: string) => Definition;
  /** All names that `find` knows, for suggestions. */
  names(type: DefinitionType, namespace: string): Promise<readonly string[]>;
}
