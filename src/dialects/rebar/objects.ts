import type { JsonObject, JsonValue } from "#lib/base/index.ts";

// Objects as clients of `/api/v3` see them. Field names are the original's; lists and maps are never null, unset
// UUIDs and addresses are "", unset times are `zeroTime`.

export const zeroTime = "0001-01-01T00:00:00Z";
export const zeroUuid = "00000000-0000-0000-0000-000000000000";

/** What every object has. The server computes all but `Meta`, `Description` and `Documentation`. */
export interface Common {
  /** Syntactically sound; others are never stored. */
  readonly Validated: boolean;
  /** Every reference resolves and templates compile; only then others may use the object. */
  readonly Available: boolean;
  /** Reasons for not being available. */
  readonly Errors: readonly string[];
  /** True if it comes from a content bundle. */
  readonly ReadOnly: boolean;
  readonly Meta: Readonly<Record<string, string>>;
  readonly Endpoint: string;
  /** The bundle it belongs to; `BackingStore` is the writable one. */
  readonly Bundle: string;
  readonly Description: string;
}

/** Values by name of param. */
export type Params = JsonObject;

export interface Documented extends Common {
  readonly Name: string;
  readonly Documentation: string;
}

export interface Machine extends Common {
  readonly Name: string;
  readonly Uuid: string;
  readonly Address: string;
  readonly HardwareAddrs: readonly string[];
  readonly Arch: string;
  readonly OS: string;
  readonly Workflow: string;
  readonly Stage: string;
  readonly BootEnv: string;
  readonly Context: string;
  readonly Profiles: readonly string[];
  readonly Params: Params;
  readonly Tasks: readonly string[];
  /** -1: before the list; `Tasks.length`: the list is done. */
  readonly CurrentTask: number;
  readonly CurrentJob: string;
  readonly Runnable: boolean;
  readonly Locked: boolean;
  readonly Secret: string;
  /** Computed. */
  readonly WorkflowComplete: boolean;
  readonly Pool: string;
  readonly PoolAllocated: boolean;
  readonly PoolStatus: string;
  readonly RetryTaskAttempt: number;
  readonly TaskErrorStacks: readonly JsonValue[];
  readonly Fingerprint: JsonObject;
  readonly Partial: boolean;
}

export interface TemplateInfo {
  readonly Name: string;
  /** Template of the destination; empty in a task: a script. */
  readonly Path: string;
  /** Of a Template; or else `Contents`. */
  readonly ID: string;
  readonly Contents: string;
  readonly Link: string;
  readonly Meta: Readonly<Record<string, string>>;
}

export interface Claim {
  readonly scope: string;
  readonly action: string;
  readonly specific: string;
}

export interface Task extends Documented {
  readonly Templates: readonly TemplateInfo[];
  readonly RequiredParams: readonly string[];
  readonly OptionalParams: readonly string[];
  readonly Prerequisites: readonly string[];
  /** Left out on the wire when empty. */
  readonly ExtraRoles: readonly string[];
  readonly ExtraClaims: readonly Claim[];
}

export interface Template extends Common {
  readonly ID: string;
  readonly Contents: string;
}

export interface Stage extends Documented {
  /** Empty: keeps the machine's. */
  readonly BootEnv: string;
  readonly Tasks: readonly string[];
  readonly Templates: readonly TemplateInfo[];
  readonly RequiredParams: readonly string[];
  readonly OptionalParams: readonly string[];
  readonly Params: Params;
  readonly Profiles: readonly string[];
  readonly Reboot: boolean;
  readonly RunnerWait: boolean;
  readonly Partial: boolean;
}

export interface Workflow extends Documented {
  readonly Stages: readonly string[];
}

export interface ArchInfo {
  readonly IsoFile: string;
  readonly Sha256: string;
  readonly IsoUrl: string;
  readonly Kernel: string;
  readonly Initrds: readonly string[];
  readonly BootParams: string;
  readonly Loader: string;
}

export interface OsInfo {
  readonly Name: string;
  readonly Family: string;
  readonly Codename: string;
  readonly Version: string;
  readonly IsoFile: string;
  readonly IsoSha256: string;
  readonly IsoUrl: string;
  readonly SupportedArchitectures: Readonly<Record<string, ArchInfo>>;
}

export interface BootEnv extends Documented {
  readonly OS: OsInfo;
  readonly Kernel: string;
  readonly Initrds: readonly string[];
  readonly BootParams: string;
  readonly Templates: readonly TemplateInfo[];
  readonly RequiredParams: readonly string[];
  readonly OptionalParams: readonly string[];
  /** For machines that are not known yet; machines cannot be assigned to it. */
  readonly OnlyUnknown: boolean;
  readonly Loaders: Readonly<Record<string, string>>;
}

export type JobState = "created" | "running" | "failed" | "finished" | "incomplete";
export type ExitState = "" | "complete" | "failed" | "reboot" | "poweroff" | "stop";

export interface Job extends Common {
  readonly Uuid: string;
  /** The machine's job before it; `zeroUuid` for the first. */
  readonly Previous: string;
  readonly Machine: string;
  /** The entry of the machine's Tasks. */
  readonly Task: string;
  readonly Workflow: string;
  readonly Stage: string;
  readonly BootEnv: string;
  readonly Context: string;
  readonly State: JobState;
  readonly ExitState: ExitState;
  readonly StartTime: string;
  readonly EndTime: string;
  readonly Archived: boolean;
  /** The newest job of its machine. */
  readonly Current: boolean;
  readonly CurrentIndex: number;
  readonly NextIndex: number;
}

export interface Param extends Documented {
  readonly Secure: boolean;
  /** JSON Schema; `default` is the value of last resort. */
  readonly Schema: JsonValue;
}

export interface Profile extends Documented {
  readonly Params: Params;
  readonly Profiles: readonly string[];
  readonly Partial: boolean;
}

export interface Context extends Documented {
  readonly Engine: string;
  readonly Image: string;
}

/** The password hash is kept in a Secret. */
export interface User extends Common {
  readonly Name: string;
  readonly Roles: readonly string[];
  /** Changing it invalidates the user's tokens. */
  readonly Secret: string;
}

export interface Role extends Documented {
  readonly Claims: readonly Claim[];
}

export interface Plugin extends Common {
  readonly Name: string;
  readonly Provider: string;
  readonly Params: Params;
  readonly PluginErrors: readonly string[];
  readonly Partial: boolean;
}

/** Objects by collection, as `/api/v3` names these. */
export interface ObjectOf {
  readonly machines: Machine;
  readonly jobs: Job;
  readonly tasks: Task;
  readonly stages: Stage;
  readonly workflows: Workflow;
  readonly bootenvs: BootEnv;
  readonly params: Param;
  readonly profiles: Profile;
  readonly templates: Template;
  readonly contexts: Context;
  readonly users: User;
  readonly roles: Role;
  readonly plugins: Plugin;
}
export type Collection = keyof ObjectOf;
export type AnyObject = ObjectOf[Collection];

/** The field with the key: machines and jobs have UUIDs, templates IDs, all others names. */
export const keyField = (collection: Collection): "Uuid" | "ID" | "Name" =>
  collection === "machines" || collection === "jobs" ? "Uuid" : collection === "templates" ? "ID" : "Name";

export interface Prefs {
  readonly [name: string]: string;
}
