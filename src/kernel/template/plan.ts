/** A rendered template of shape A. Absent lists and maps are empty. */
export interface TemplatePlan {
  readonly version: string;
  readonly name: string;
  /** Seconds; 0 is none. */
  readonly globalTimeout: number;
  readonly tasks: readonly PlannedTask[];
  /** Reserved keys that the user's values had. */
  readonly overwritten: readonly string[];
  /** Unknown keys of the rendered document. */
  readonly ignored: readonly IgnoredKey[];
}

export interface PlannedTask {
  readonly name: string;
  readonly worker: string;
  readonly volumes: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly actions: readonly PlannedAction[];
}

/** One container. `command` is for the image's entry point. */
export interface PlannedAction {
  readonly name: string;
  readonly image: string;
  /** Seconds; 0 is none. */
  readonly timeout: number;
  readonly command: readonly string[];
  readonly volumes: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly pid: string;
  readonly namespaces: { readonly pid: string; readonly network: string };
}

/** With its place in the rendered document. */
export interface IgnoredKey {
  readonly path: string;
  readonly line: number;
}

/** A rendered template of shape B. */
export interface ActionsPlan {
  readonly actions: readonly ContainerAction[];
  /** For all actions. */
  readonly env: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
}

/** One container of shape B; a non-empty `cmd` replaces the image's entry point. */
export interface ContainerAction {
  readonly name: string;
  readonly image: string;
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly namespaces: { readonly network: string; readonly pid: string | number };
}
