import { age, column, type Fields, kind, type PrinterColumn, type Shape } from "#lib/schema/index.ts";
import type { Kind } from "#lib/schema/index.ts";
import type { Collection } from "./objects.ts";
import { status } from "./schema/common.ts";
import * as library from "./schema/library.ts";
import { JobSpec, MachineSpec } from "./schema/machine.ts";

// One kind for each collection of `/api/v3`, and two for what has no collection. A status is no subresource: spec and
// status change in one write, on every Kubernetes API.

export const group = "rebar.slipway.dev";
export const bundleLabel = `${group}/bundle`;
export const revisionLabel = `${group}/bundle-rev`;
export const machineLabel = `${group}/machine`;

/** All objects of one server, unless told otherwise. */
export const defaultNamespace = "rebar";

const wide = (name: string, path: string): PrinterColumn => column(name, path, { priority: 1 });
const flag = (name: string, path: string): PrinterColumn => column(name, path, { type: "boolean" });
const title = column("Title", ".spec.Name");
const available = flag("Available", ".status.available");

function declare<const S extends Shape>(
  name: string,
  plural: string,
  description: string,
  spec: S,
  columns: readonly PrinterColumn[],
  fields: Fields = { status },
) {
  const names = { group, version: "v1", kind: name, plural, scope: "Namespaced", categories: ["rebar"] } as const;
  return kind({ ...names, description, spec, fields, columns: [...columns, age()] });
}

export const Machine = declare("Machine", "machines", "A machine that agents drive through tasks.", MachineSpec, [
  title,
  column("Stage", ".spec.Stage"),
  column("Workflow", ".spec.Workflow"),
  column("Task", ".spec.CurrentTask", { type: "integer" }),
  column("Job", ".spec.currentJobRecord.Task"),
  column("State", ".spec.currentJobRecord.State"),
  flag("Runnable", ".spec.Runnable"),
  column("Context", ".spec.Context"),
  wide("BootEnv", ".spec.BootEnv"),
  wide("Address", ".spec.Address"),
  { ...available, priority: 1 },
]);

export const Job = declare("Job", "jobs", "One execution of a task on a machine.", JobSpec, [
  column("Task", ".spec.Task"),
  column("State", ".spec.State"),
  column("Exit", ".spec.ExitState"),
  column("Machine", ".spec.Machine"),
  wide("Previous", ".spec.Previous"),
  wide("Stage", ".spec.Stage"),
]);

export const Task = declare("Task", "tasks", "Scripts and files for machines.", library.TaskSpec, [title, available]);
export const Stage = declare("Stage", "stages", "Tasks, and the environment they need.", library.StageSpec, [
  title,
  column("BootEnv", ".spec.BootEnv"),
  available,
]);
export const Workflow = declare("Workflow", "workflows", "Stages in their order.", library.WorkflowSpec, [
  title,
  available,
]);
export const BootEnv = declare("BootEnv", "bootenvs", "What machines boot into.", library.BootEnvSpec, [
  title,
  column("OS", ".spec.OS.Name"),
  available,
]);
export const Param = declare("Param", "params", "The schema of a value.", library.ParamSpec, [
  title,
  flag("Secure", ".spec.Secure"),
]);
export const Profile = declare("Profile", "profiles", "Values that machines share.", library.ProfileSpec, [
  title,
  available,
]);
export const Template = declare("Template", "templates", "A text that others include.", library.TemplateSpec, [
  column("ID", ".spec.ID"),
  available,
]);
export const Context = declare("Context", "contexts", "Where an agent runs for machines.", library.ContextSpec, [
  title,
  column("Engine", ".spec.Engine"),
  column("Image", ".spec.Image"),
]);
export const Plugin = declare("Plugin", "plugins", "Actions on this server.", library.PluginSpec, [
  title,
  column("Provider", ".spec.Provider"),
  available,
]);
export const User = declare("User", "users", "Who may use the API.", library.UserSpec, [title]);
export const Role = declare("Role", "roles", "Rights of users.", library.RoleSpec, [title]);

export const Preference = declare("Preference", "preferences", "Settings of a server.", library.PreferenceSpec, [], {});
export const ContentBundle = declare(
  "ContentBundle",
  "contentbundles",
  "Objects that are loaded and replaced together.",
  library.ContentBundleSpec,
  [
    column("Title", ".spec.meta.Name"),
    column("Version", ".spec.meta.Version"),
    column("Revision", ".spec.activeRev", { type: "integer" }),
  ],
);

export const kindOf = {
  machines: Machine,
  jobs: Job,
  tasks: Task,
  stages: Stage,
  workflows: Workflow,
  bootenvs: BootEnv,
  params: Param,
  profiles: Profile,
  templates: Template,
  contexts: Context,
  users: User,
  roles: Role,
  plugins: Plugin,
} as const satisfies Readonly<Record<Collection, Kind>>;

/** In an order in which every object comes after those it refers to. */
export const collections = [
  "params",
  "templates",
  "profiles",
  "bootenvs",
  "tasks",
  "stages",
  "workflows",
  "contexts",
  "plugins",
  "roles",
  "users",
  "machines",
  "jobs",
] as const satisfies readonly Collection[];

export const isCollection = (text: string): text is Collection => Object.hasOwn(kindOf, text);

export const kinds: readonly Kind[] = [...Object.values(kindOf), Preference, ContentBundle];
