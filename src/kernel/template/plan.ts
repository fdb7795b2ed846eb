/** What a rendered template of shape A says. Absent lists and maps are empty; texts are as they stand in the document. */
export interface TemplatePlan {
  readonly version: string;
  readonly name: string;
  /** Seconds; 0 is none. */
  readonly globalTimeout: number;
  readonly tasks: readonly PlannedTask[];
  /** Keys among the user's values that are reserved, and were overwritten. */
  readonly overwritten: readonly string[];
  /** Keys of the rendered document that mean nothing. */
  readonly ignored: readonly IgnoredKey[];
}

/** What one worker does. */
export interface PlannedTask {
  readonly name: string;
  readonly worker: string;
  readonly volumes: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly actions: readonly PlannedAction[];
}

/** One container. `command` is for the image's own entry point. */
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

/** A key and where it stands in the rendered document. */
export interface IgnoredKey {
  readonly path: string;
  readonly line: number;
}

/** What a rendered template of shape B says. */
export interface ActionsPlan {
  readonly actions: readonly ContainerAction[];
  /** For all actions. */
  readonly env: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
}

/** One container of shape B; `cmd` replaces the image's entry point unless it is empty. */
export interface ContainerAction {
  readonly name: string;
  readonly image: string;
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly namespaces: { readonly network: string; readonly pid: string | number };
}
