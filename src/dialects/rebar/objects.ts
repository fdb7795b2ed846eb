import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import type { Shape, TypeOf } from "#lib/schema/index.ts";
import type * as common from "./schema/common.ts";
import type * as library from "./schema/library.ts";
import type { JobSpec, MachineSpec } from "./schema/machine.ts";

// Objects as clients of `/api/v3` see them: specs with all their fields. Lists and maps are never null, unset UUIDs and
// addresses are "", unset times are `zeroTime`.

export const zeroTime = "0001-01-01T00:00:00Z";
export const zeroUuid = "00000000-0000-0000-0000-000000000000";

/** A value whose members are all there, to any depth. Free JSON stays as it is. */
type Complete<T> = [JsonValue] extends [T]
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Complete<Item>[]
    : T extends object
      ? CompleteObject<T>
      : T;
type CompleteObject<T> = string extends keyof T
  ? Readonly<Record<string, Complete<T[keyof T]>>>
  : { readonly [Name in keyof T]-?: Complete<Exclude<T[Name], undefined>> };

/** What the server computes of every object. */
export interface Computed {
  /** Syntactically sound; others are never stored. */
  readonly Validated: boolean;
  /** Every reference resolves and templates compile; only then others may use the object. */
  readonly Available: boolean;
  /** Reasons for not being available. */
  readonly Errors: readonly string[];
  /** True if it comes from a content bundle. */
  readonly ReadOnly: boolean;
  readonly Endpoint: string;
  /** The bundle it belongs to; `BackingStore` is the writable one. */
  readonly Bundle: string;
}

/** On replies without all fields. */
interface Slimmed {
  readonly Partial: boolean;
}

/** Records of jobs are fields of the stored machine alone. */
type Wire<S extends Shape> = Computed & Omit<Complete<TypeOf<S>>, "currentJobRecord" | "previousJobRecord">;

/** Objects by collection, as `/api/v3` names these. */
export interface ObjectOf {
  readonly machines: Wire<typeof MachineSpec> & Slimmed & { readonly WorkflowComplete: boolean };
  readonly jobs: Wire<typeof JobSpec>;
  readonly tasks: Wire<typeof library.TaskSpec>;
  readonly stages: Wire<typeof library.StageSpec> & Slimmed;
  readonly workflows: Wire<typeof library.WorkflowSpec>;
  readonly bootenvs: Wire<typeof library.BootEnvSpec>;
  readonly params: Wire<typeof library.ParamSpec>;
  readonly profiles: Wire<typeof library.ProfileSpec> & Slimmed;
  readonly templates: Wire<typeof library.TemplateSpec>;
  readonly contexts: Wire<typeof library.ContextSpec>;
  readonly users: Wire<typeof library.UserSpec>;
  readonly roles: Wire<typeof library.RoleSpec>;
  readonly plugins: Wire<typeof library.PluginSpec> & Slimmed;
}
export type Collection = keyof ObjectOf;
export type AnyObject = ObjectOf[Collection];

export type Machine = ObjectOf["machines"];
export type Job = ObjectOf["jobs"];
export type Task = ObjectOf["tasks"];
export type Stage = ObjectOf["stages"];
export type Workflow = ObjectOf["workflows"];
export type BootEnv = ObjectOf["bootenvs"];
export type Param = ObjectOf["params"];
export type Profile = ObjectOf["profiles"];
export type Template = ObjectOf["templates"];
export type Context = ObjectOf["contexts"];
export type Plugin = ObjectOf["plugins"];
export type TemplateInfo = Complete<TypeOf<typeof common.TemplateInfo>>;
export type Claim = Complete<TypeOf<typeof common.Claim>>;
export type JobState = Job["State"];
export type ExitState = Job["ExitState"];
/** Values by name of param. */
export type Params = JsonObject;

/** The field with the key: machines and jobs have UUIDs, templates IDs, all others names. */
export const keyField = (collection: Collection): "Uuid" | "ID" | "Name" =>
  collection === "machines" || collection === "jobs" ? "Uuid" : collection === "templates" ? "ID" : "Name";

export type Prefs = Readonly<Record<string, string>>;
